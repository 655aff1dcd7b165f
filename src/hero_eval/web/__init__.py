"""The page: a store in the browser, for the whole team, and a JSON API with its description.

Views read what is known of rounds, never their labels. What must be worked out is worked out once, by a process beside
the server, and kept until the rounds it came from change.
"""
