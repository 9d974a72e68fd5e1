"""People: sign-in at a node, and what they may execute.

sign_in    who is asked for which password
directory  people, as the page knows them
rights     what a person may execute
attempts   wrong passwords make the next try wait
vouching   how the page signs in for somebody
"""
