----------------------------- MODULE OnlineIndex -----------------------------
(***************************************************************************)
(* The online addition, drop and cancellation of one index on one table,   *)
(* while the nodes of a cluster write under two versions of its schema.    *)
(*                                                                         *)
(* An index is public when statements may read it.  On the way there it is *)
(* absent, delete-only (statements remove entries and put none), then      *)
(* write-only (they put and remove entries, and read none).  A fill puts   *)
(* the entries of existing rows in between.  L.., T.., R.., X.. and C.. are *)
(* rules and clauses of docs/reference/protocol.md.                        *)
(*                                                                         *)
(* The module holds two specifications of the same protocol.               *)
(*   Atomic  There are no nodes.  A transaction is one event, under any    *)
(*           version from the fence to the newest.                         *)
(*   Spec    Nodes lease versions; transactions pin a version, enter, and  *)
(*           commit, each in a step of its own.                            *)
(* Refines says that each step of Spec is an AtomicNext, or touches        *)
(* none of its variables.  The explorer of this project searches Atomic:   *)
(* Refines is the reduction that it relies on.                             *)
(*                                                                         *)
(* Simpler than the product:                                               *)
(* - A lease has no clock.  It may end at any moment, and its node need    *)
(*   not notice.  That covers clocks, their skew, and frozen processes.    *)
(* - A transaction runs one statement on one row of one table.             *)
(* - A transaction whose lease has ended may still write.  T4 forbids that *)
(*   and is not needed for safety: the lock and the fence are.             *)
(* - Publishing is one step, and so is draining.  Both may fail to happen  *)
(*   for any time, so row locks, news (L6) and the throttle are absent.    *)
(* - The executor does not crash (X2, X3); a worker of the fill may seem   *)
(*   to, and writes on beside its successor.                               *)
(* Left out: tables, optional columns, constraints, placements, several    *)
(* tables (L11), changes of key, savepoints (T5), chunks in a range (R3).  *)
(* UniqueIndex and RequiredColumn are modules beside this one.             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
  Node, Row, Value, NoRow,
  Stages,    \* the index's states, version after version (protocol, section 4)
  Beside,    \* TRUE: both stages are published, nothing is planned (a pair)
  Live,      \* the number of versions that may be in use at once: 2 (L2)
  Cancels,   \* TRUE: the change may be cancelled (X4)
  Verifies,  \* TRUE: the plan verifies the index before it is public (R10); UniqueIndex has the step
  Early,     \* TRUE: a snapshot is taken before the version is chosen (T3)
  Traced,    \* TRUE: `act` tells each step
  Flaws      \* rules left out, by the names of `manage.py explore --fill`

VARIABLES
  vers,      \* vers[v] is the index's state in version v
  fence,     \* the oldest version that `enter` accepts (T2)
  todo,      \* the executor's steps that are still to come: <<what, state>>
  row,       \* row[r]: the value of row r, or NoRow
  ent,       \* ent[<<r, x>>]: the entry of row r at value x, a tombstone, none
  tries,     \* tries[r]: what the two workers on the range of row r have read
  done,      \* the ranges that are filled (R3)
  lease,     \* lease[n]: the versions on which node n has a live lease (L1)
  tx,        \* tx[n]: the open transaction of node n
  act        \* the step that was taken last: <<who, what, number or row, value>>

exec  == <<vers, fence, todo>>
fill  == <<tries, done>>
data  == <<vers, fence, todo, row, ent, tries, done>>
nodes == <<lease, tx, act>>
vars  == <<data, nodes>>

Flaw(name) == name \in Flaws
Newest == Len(vers)
Max(S) == CHOOSE m \in S : \A x \in S : x <= m
Entry  == Row \X Value
Drops  == Stages[1] = "public"
------------------------------------------------------------------------------
(* The plan (section 4).  A reorganisation begins when the version before  *)
(* it is drained: no node uses an older one then (L9, R1).                 *)

Step(what) == <<what, "">>
PublishOf(state) == <<"publish", state>>
Unless(flaw, steps) == IF Flaw(flaw) THEN <<>> ELSE steps

BecomesReadable(i) == Stages[i] = "public" /\ Stages[i - 1] # "absent" /\ ~Drops
Reorganise(i) ==
  CASE BecomesReadable(i) ->
         Unless("skipped", Unless("early", <<Step("drain")>>)
                           \o Unless("not-cleared", <<Step("clear")>>) \o <<Step("fill")>>
                           \o (IF Verifies THEN Unless("unverified", <<Step("verify")>>) ELSE <<>>))
    [] Stages[i] = "absent" ->
         Unless("no-delete", Unless("delete-early", <<Step("drain")>>) \o <<Step("delete")>>)
    [] OTHER -> <<>>

Fills == ~Beside /\ ~Drops /\ \E i \in DOMAIN Stages : Stages[i] = "write-only"
RECURSIVE From(_)
From(i) == IF i <= Len(Stages) THEN Reorganise(i) \o <<PublishOf(Stages[i])>> \o From(i + 1)
           ELSE <<Step("drain")>> \o (IF Fills THEN Unless("no-purge", <<Step("purge")>>) ELSE <<>>)

\* X4: the way back from `state`.  What was put is deleted, once no node puts it.
Back(state) ==
  IF Drops THEN <<PublishOf("public"), Step("drain")>>
  ELSE (IF state = "write-only" THEN <<PublishOf("delete-only")>> ELSE <<>>)
       \o <<Step("drain")>> \o Unless("no-delete", <<Step("delete")>>)
       \o <<PublishOf("absent"), Step("drain")>>
\* X6: an addition may be cancelled until it is public, a drop until it is delete-only.
NoReturn == PublishOf(IF Drops THEN "delete-only" ELSE "public")
------------------------------------------------------------------------------
(* Statements, by the table of section 3.  A statement takes row r from    *)
(* value `old` to value `new`; NoRow stands for an insert and a delete.    *)

Statements == {<<r, row[r], x>> : r \in Row, x \in Value \cup {NoRow}} \ {<<r, row[r], row[r]>> : r \in Row}

\* R4: the version fills that is write-only on the way up.
Filling(v)    == Fills /\ vers[v] = "write-only"
Removes(v, s) == IF s[2] = NoRow \/ vers[v] = "absent" THEN {} ELSE {<<s[1], s[2]>>}
Puts(v, s)    == IF s[3] = NoRow \/ vers[v] \notin {"write-only", "public"} THEN {} ELSE {<<s[1], s[3]>>}

\* R5: under filling a removal leaves a tombstone, whether or not an entry is there.  `unseen` are the keys that were
\* written since the transaction's snapshot: it does not see them.
Tombs(v, s, unseen) ==
  IF ~Filling(v) THEN {}
  ELSE IF Flaw("seen-only") THEN {e \in Removes(v, s) \ unseen : ent[e] = "live"}
  ELSE Removes(v, s)
\* Else the entry is deleted, if the snapshot shows it.
Deletes(v, s, unseen) == IF Filling(v) THEN {} ELSE Removes(v, s) \ unseen

Effect(v, s, unseen) ==
  /\ row' = [row EXCEPT ![s[1]] = s[3]]
  /\ ent' = [e \in Entry |-> CASE e \in Puts(v, s) -> "live"
                               [] e \in Tombs(v, s, unseen) -> "tomb"
                               [] e \in Deletes(v, s, unseen) -> "none"
                               [] OTHER -> ent[e]]
  /\ UNCHANGED <<exec, fill>>
------------------------------------------------------------------------------
(* The executor and the workers of the fill: their effects on the data.    *)

Comes(what) == todo # <<>> /\ Head(todo)[1] = what
Sweep(kinds) == ent' = [e \in DOMAIN ent |-> IF ent[e] \in kinds THEN "none" ELSE ent[e]]
Unread == [r \in Row |-> <<"unread", "none">>]

\* The oldest version that may be in use beside the next one.
Oldest == IF Newest + 2 > Live THEN Newest + 2 - Live ELSE 1

PublishData == /\ Comes("publish") /\ todo' = Tail(todo)                                   \* L7
               /\ vers' = Append(vers, Head(todo)[2]) /\ fence' = Max({fence, Oldest})
               /\ UNCHANGED <<row, ent, fill>>
DrainData   == /\ Comes("drain") /\ todo' = Tail(todo) /\ fence' = Newest                   \* L9
               /\ UNCHANGED <<vers, row, ent, fill>>

\* R7: closing the run stops every worker, also one that seems dead.
Close == IF Flaw("no-close") THEN UNCHANGED fill ELSE tries' = Unread /\ done' = {}
Cleans(what, kinds) == /\ Comes(what) /\ todo' = Tail(todo) /\ Sweep(kinds)
                       /\ UNCHANGED <<vers, fence, row, fill>>
ExecutorData(what) ==
  \/ what \in {"clear", "purge"} /\ Cleans(what, {"tomb"})                                  \* R6, R8
  \/ what = "delete" /\ Cleans(what, {ent[e] : e \in DOMAIN ent})                           \* R8
  \/ /\ what = "close" /\ Comes("fill") /\ done = Row /\ todo' = Tail(todo)
     /\ Close /\ UNCHANGED <<vers, fence, row, ent>>
  \/ /\ what = "cancel" /\ Cancels /\ Newest > 1                                            \* X4, X6
     /\ \E i \in DOMAIN todo : todo[i] = NoReturn
     /\ todo' = Back(vers[Newest]) /\ Close /\ UNCHANGED <<vers, fence, row, ent>>

\* A range is one row.  A worker reads it in a snapshot (R1), and puts later what it has read.  When a worker seems
\* dead a second one takes its range over; the first may be a zombie that goes on.
HasRead(r, w) == tries[r][w] \in Value \cup {NoRow}
May(r) == r \notin done \/ Flaw("twice")                                                    \* R3
\* R2: a fill puts where there is neither an entry nor a tombstone: what a writer put or removed wins.
MayPut(e) == \/ ent[e] = "none"
             \/ Flaw("blind")
             \/ Flaw("exists-only") /\ row[e[1]] # NoRow /\ ent[e] # "live"

ReadData(what, r, w) ==
  \/ /\ what = "read" /\ Comes("fill") /\ tries[r][w] = "unread" /\ May(r)
     /\ tries' = [tries EXCEPT ![r][w] = IF Filling(Newest) THEN row[r] ELSE NoRow]         \* R2
     /\ UNCHANGED <<exec, row, ent, done>>
  \/ /\ what = "again" /\ w = 2 /\ Comes("fill") /\ HasRead(r, 1)
     /\ \A q \in Row : tries[q][2] = "none"            \* one worker of the model seems dead
     /\ tries' = [tries EXCEPT ![r][2] = "unread"]
     /\ UNCHANGED <<exec, row, ent, done>>
\* An entry and the range's mark commit together (R3).
Spends(r, w) == LET after == [tries[r] EXCEPT ![w] = "spent"]
                    both == <<"spent", IF after[2] = "none" THEN "none" ELSE "spent">>
                IN /\ tries' = [tries EXCEPT ![r] = IF Flaw("twice") THEN after ELSE both]
                   /\ done' = done \cup {r} /\ UNCHANGED <<exec, row>>
PutData(r, w) ==
  /\ HasRead(r, w) /\ Spends(r, w)
  /\ LET x == tries[r][w]
     IN ent' = IF x # NoRow /\ May(r) /\ MayPut(<<r, x>>) THEN [ent EXCEPT ![<<r, x>>] = "live"] ELSE ent

PurgeEarly == Flaw("purged") /\ Comes("fill") /\ Sweep({"tomb"}) /\ UNCHANGED <<exec, row, fill>>   \* against R7
------------------------------------------------------------------------------
(* Atomic                                                                  *)

Acts  == {"clear", "purge", "delete", "close", "cancel"}
Reads == {"read", "again"}

InitData ==
  /\ vers = IF Beside THEN Stages ELSE <<Stages[1]>>
  /\ fence = 1 /\ todo = IF Beside THEN <<Step("drain")>> ELSE From(2)
  /\ row \in [Row -> IF Beside THEN {NoRow} ELSE Value \cup {NoRow}]
  /\ tries = Unread /\ done = {}
InitEntries == ent = [e \in Entry |-> IF Drops /\ row[e[1]] = e[2] THEN "live" ELSE "none"]

ReorganiseData == \/ \E what \in Acts : ExecutorData(what)
                  \/ \E r \in Row, w \in {1, 2} : PutData(r, w) \/ \E what \in Reads : ReadData(what, r, w)
                  \/ PurgeEarly
AtomicNext == \/ \E v \in fence..Newest, s \in Statements : Effect(v, s, {})
              \/ PublishData \/ DrainData \/ ReorganiseData

Idle == [phase |-> "idle"]
NoNodes == lease = [n \in Node |-> {}] /\ tx = [n \in Node |-> Idle] /\ act = <<>>
Atomic  == InitData /\ InitEntries /\ NoNodes /\ [][AtomicNext /\ UNCHANGED nodes]_vars
------------------------------------------------------------------------------
(* Nodes and their transactions                                            *)

Says(who, what, place, value) == act' = IF Traced THEN <<who, what, place, value>> ELSE <<>>

\* The index leads to the rows, and to nothing else: what a reader sees in a snapshot of this moment.
IndexIsRight == {e \in Entry : ent[e] = "live"} = {<<r, row[r]>> : r \in {q \in Row : row[q] # NoRow}}

\* Of a snapshot this matters: the newest version in it, the fence in it (where that is asked, against T2), whether
\* the index was right, and the keys that others have written since.
Snapshot == [seen |-> Newest, old |-> IF Flaw("stale-fence") THEN fence ELSE 0, good |-> IndexIsRight, changed |-> {}]
HasSnapshot(t) == t.phase = "entered" \/ (Early /\ t.phase # "idle")
Tell(t, keys) == [n \in Node |-> IF HasSnapshot(t[n]) THEN [t[n] EXCEPT !.snap.changed = @ \cup keys] ELSE t[n]]
Entered(n) == tx[n].phase = "entered"
InTx(n)    == tx[n].phase # "idle"
Pinned(n)  == tx[n].phase \in {"pinned", "entered"}

\* The snapshot of a transaction's first table is taken by `enter`, that of a later table was taken before.
Begin(n) == /\ Early /\ ~InTx(n) /\ lease[n] # {}
            /\ tx' = [tx EXCEPT ![n] = [phase |-> "begun", v |-> 0, snap |-> Snapshot]]
            /\ UNCHANGED <<data, lease>> /\ Says(n, "begin", 0, NoRow)

\* T1: a node pins the newest version that it leases.  It may be slow before it enters.
Pin(n) == /\ lease[n] # {} /\ tx[n].phase = IF Early THEN "begun" ELSE "idle"
          /\ tx' = [tx EXCEPT ![n] = IF Early THEN [@ EXCEPT !.phase = "pinned", !.v = Max(lease[n])]
                                     ELSE [phase |-> "pinned", v |-> Max(lease[n])]]
          /\ UNCHANGED <<data, lease>> /\ Says(n, "pin", Max(lease[n]), NoRow)

\* The shared lock on the version, then the fence as of now (T2), then the version in the snapshot (T3).
Enter(n) ==
  /\ tx[n].phase = "pinned"
  /\ LET v == tx[n].v
         s == IF Early THEN tx[n].snap ELSE Snapshot
     IN /\ Flaw("no-check") \/ v >= IF Flaw("stale-fence") THEN s.old ELSE fence
        /\ Flaw("newer-version") \/ v <= s.seen
        /\ tx' = [tx EXCEPT ![n] =
             [phase |-> "entered", v |-> v,
              snap |-> [s EXCEPT !.seen = 0, !.old = 0, !.good = vers[v] = "public" => s.good]]]
  /\ UNCHANGED <<data, lease>> /\ Says(n, "enter", tx[n].v, NoRow)

\* T1: what others have written since the snapshot is a conflict, 40001, for a row that is read or a key that is put.
Conflict(t, s) == LET c == t.snap.changed
                  IN <<s[1]>> \in c \/ (Puts(t.v, s) \cup Tombs(t.v, s, c)) \cap c # {}
Keys(v, s) == {<<s[1]>>} \cup Puts(v, s) \cup Removes(v, s)

\* L4: the lease on an older version is released with its last transaction.
Released(n) == [lease EXCEPT ![n] = IF @ = {} THEN {} ELSE {Max(@)}]

Commit(n) ==
  /\ Entered(n)
  /\ \E s \in Statements :
       /\ ~Conflict(tx[n], s)
       /\ Effect(tx[n].v, s, tx[n].snap.changed)
       /\ tx' = Tell([tx EXCEPT ![n] = Idle], Keys(tx[n].v, s))
       /\ Says(n, "commit", s[1], s[3])
  /\ lease' = Released(n)

\* Rollback, 40001, a lost connection, or the end of its session by the publisher (L8): they look alike to the store.
Abort(n) == /\ InTx(n) /\ tx' = [tx EXCEPT ![n] = Idle] /\ lease' = Released(n)
            /\ UNCHANGED data /\ Says(n, "rollback", 0, NoRow)

\* L3, L4: the newest version; an older lease stays while the open transaction has it pinned.
Acquire(n) == /\ Newest \notin lease[n]
              /\ lease' = [lease EXCEPT ![n] = {Newest} \cup (IF Pinned(n) THEN @ \cap {tx[n].v} ELSE {})]
              /\ UNCHANGED <<data, tx>> /\ Says(n, "acquire", Newest, NoRow)

\* A lease ends.  What its node has open goes on: a reader reads on (T4), another one may still enter and commit.
Expire(n) == \E v \in lease[n] : /\ lease' = [lease EXCEPT ![n] = @ \ {v}]
                                 /\ UNCHANGED <<data, tx>> /\ Says(n, "expire", v, NoRow)

\* L7, L9: no lease on an older version, and the lock of each one obtained that is not yet proved drained.
NobodyBelow(v) == /\ \A n \in Node : \A w \in lease[n] : w >= v
                  /\ Flaw("no-lock") \/ \A n \in Node : Entered(n) => tx[n].v \notin fence..(v - 1)
Publish == /\ NobodyBelow(Oldest) /\ PublishData /\ UNCHANGED <<lease, tx>>
           /\ Says("executor", "publish", Newest + 1, NoRow)
Drain   == /\ NobodyBelow(Newest) /\ DrainData /\ UNCHANGED <<lease, tx>>
           /\ Says("executor", "drain", Newest, NoRow)

\* A reorganisation writes behind the back of open transactions.
Unseen == tx' = Tell(tx, {e \in DOMAIN ent : ent'[e] # ent[e]}) /\ UNCHANGED lease
Reorganises == /\ \/ \E what \in Acts : ExecutorData(what) /\ Says("executor", what, 0, NoRow)
                  \/ \E r \in Row, w \in {1, 2} :
                       \/ PutData(r, w) /\ Says("fill", "put", r, w)
                       \/ \E what \in Reads : ReadData(what, r, w) /\ Says("fill", what, r, w)
                  \/ PurgeEarly /\ Says("fill", "purge", 0, NoRow)
               /\ Unseen

Init == InitData /\ InitEntries /\ lease = [n \in Node |-> {1}] /\ tx = [n \in Node |-> Idle] /\ act = <<>>
OfNode(n) == Begin(n) \/ Pin(n) \/ Enter(n) \/ Commit(n) \/ Abort(n) \/ Acquire(n) \/ Expire(n)
Next == (\E n \in Node : OfNode(n)) \/ Publish \/ Drain \/ Reorganises
Spec == Init /\ [][Next]_vars
------------------------------------------------------------------------------
(* What must hold (section 2), under every version in force.               *)

\* Without fence and lock these are the newest one and the leased ones.
InForce == IF {"no-check", "no-lock"} \subseteq Flaws THEN {Newest} \cup UNION {lease[n] : n \in Node}
           ELSE fence..Newest
Under(state) == \E v \in InForce : vers[v] = state

\* C3: an entry belongs to an index that the version contains.
C3 == Under("absent") => \A e \in Entry : ent[e] = "none"
\* C4: a public index has an entry for every row.
C4 == Under("public") => \A r \in Row : row[r] # NoRow => ent[<<r, row[r]>>] = "live"
\* C5: an entry matches the current value of an existing row.
C5 == \A e \in Entry : ent[e] = "live" => row[e[1]] = e[2]
\* C7: no tombstone stays when the change has ended.
C7 == todo = <<>> => \A e \in Entry : ent[e] # "tomb"
\* L2: live leases are on the two newest versions.
TwoVersions == \A n \in Node : \A v \in lease[n] : v + Live > Newest
\* A reader of a public version finds the rows of its snapshot by the index.
ReadRight == \A n \in Node : Entered(n) => tx[n].snap.good

Refines == [][AtomicNext]_data

TypeOK == /\ row \in [Row -> Value \cup {NoRow}]
          /\ ent \in [Entry -> {"none", "live", "tomb"}]
          /\ fence \in 1..Newest /\ done \subseteq Row
          /\ \A n \in Node : lease[n] \subseteq 1..Newest

\* For TLC: names do not matter, and neither does the last step.
Alike == Permutations(Node) \cup Permutations(Row) \cup Permutations(Value)
View  == <<data, lease, tx>>
------------------------------------------------------------------------------
(* The sequences of section 4, and others that a configuration names.      *)

Add == <<"absent", "delete-only", "write-only", "public">>
AddWithoutDeleteOnly  == <<"absent", "write-only", "public">>
AddWithoutWriteOnly   == <<"absent", "delete-only", "public">>
AddInOneStep          == <<"absent", "public">>
Drop == <<"public", "write-only", "delete-only", "absent">>
DropWithoutWriteOnly  == <<"public", "delete-only", "absent">>
DropWithoutDeleteOnly == <<"public", "write-only", "absent">>
AbsentDeleteOnly    == <<"absent", "delete-only">>
AbsentWriteOnly     == <<"absent", "write-only">>
AbsentPublic        == <<"absent", "public">>
DeleteOnlyWriteOnly == <<"delete-only", "write-only">>
DeleteOnlyPublic    == <<"delete-only", "public">>
WriteOnlyPublic     == <<"write-only", "public">>
DeleteOnlyAbsent    == <<"delete-only", "absent">>
WriteOnlyAbsent     == <<"write-only", "absent">>
PublicAbsent        == <<"public", "absent">>
WriteOnlyDeleteOnly == <<"write-only", "delete-only">>
PublicDeleteOnly    == <<"public", "delete-only">>
PublicWriteOnly     == <<"public", "write-only">>
==============================================================================
