"""The page *Design a rollout*: a file in the browser, its exploration in the lab's worker, the answer as a card.

views    the page, a question, its answer
answers  a check's report as JSON that is kept, and in the reader's words
links    a file as a part of an address
tiles    the deploys of a file as tiles of the builder
lesson_words  the words of the builder, and of its stage
"""
