"""A storm over a whole cluster, and an independent judge of what is left of it: `python -m bench.soak`.

Clients write and check, schemas change there and back, a nemesis kills and freezes processes; then everything is
healed and what clients were told is compared with what lies in the pair tables. One generator of chance, one seed:

    options       what the command line says
    storm         the cluster, all actors beside each other, the end
    chronicle     what happened when, as a log; violations
    waits         who waits for an answer since when; nobody may wait for ever

    ledger   p    what a client was told about its rows: certain, or one of two
    outcomes p    what an error says about a transaction: refused or unknown
    sessions      a client's way to the nodes, as a correct client takes it
    items         clients that insert, update, move and delete rows of their own
    transfers     clients that move amounts between accounts that all share
    made          tables made in transactions that commit or roll back
    readers       the same question asked by key, by index and by scan

    kinds    p    the schema changes, there and back
    schema        who submits them; who pauses, resumes and cancels them
    victims       the processes that can be struck
    nemesis       who strikes them, by the clock or at a step of a change
    samples       live leases and versions, looked at all the time

    pairs    p    pair tables decoded by the protocol's text alone
    verdict       what must hold in the end
    figures       what is printed
"""
