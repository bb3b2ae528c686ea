"""The only part of the lab that imports streamlit: frame, controls, and how a lesson is put on the screen."""
