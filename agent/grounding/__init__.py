"""The check in code: is what a draft says what the passages say?"""
