"""triad"""
