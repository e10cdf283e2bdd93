"""Stores of draws that survive the process, and checks of files from elsewhere."""
