"""Charts as pure functions: a DataFrame and labels in, an Altair chart out. No torch, no Streamlit."""
