----------------------------- MODULE UniqueIndex -----------------------------
(***************************************************************************)
(* OnlineIndex for a unique index: clause C6, and verification with repair *)
(* (R10).  The plan, the executor and the fill are those of OnlineIndex.   *)
(*                                                                         *)
(* There is one entry for each value.  It names the row that owns it:      *)
(*   ent[x]   the owner of value x, "tomb" for a tombstone, or "none"      *)
(* A put is refused while the entry is another row's.  A removal touches   *)
(* the entry only where it is the row's own; under filling it leaves a     *)
(* tombstone also where there is none.                                     *)
(*                                                                         *)
(* A node in delete-only puts no entry and refuses nothing, and one in     *)
(* write-only may put an entry that an existing row lacks as yet.  So rows *)
(* may have one value twice before the index is public: verification finds *)
(* that, and the change goes back.  A row may also lack its entry: another *)
(* row with its value came and went, and left a tombstone.  It is put then *)
(* by a transaction of its own, which reads the row again.                 *)
(*                                                                         *)
(* Of the two grains of OnlineIndex this module has Atomic.  Rows without  *)
(* a value (NULL) never collide and are left out.                          *)
(***************************************************************************)
EXTENDS OnlineIndex

VARIABLE found   \* what verification has found: at most one <<row, value>> without its entry

uvars == <<vars, found>>
------------------------------------------------------------------------------
(* Statements                                                              *)

Others(r) == Row \ {r}
At(entries) == {e[2] : e \in entries}

\* Section 3: found by the put itself, never by a read before it (T7).
Refuses(v, s) == \E x \in At(Puts(v, s)) : ent[x] \in Others(s[1])

\* R5 for unique entries: another row's live entry stays; a tombstone that is found is written again.
Remains(v, s, x) == IF ent[x] = s[1] THEN (IF Filling(v) THEN "tomb" ELSE "none")
                    ELSE IF Filling(v) /\ ent[x] = "none" /\ ~Flaw("seen-only") THEN "tomb"
                    ELSE ent[x]

UniqueEffect(v, s) ==
  /\ ~Refuses(v, s)
  /\ row' = [row EXCEPT ![s[1]] = s[3]]
  /\ ent' = [x \in Value |-> IF x \in At(Puts(v, s)) THEN s[1]
                             ELSE IF x \in At(Removes(v, s)) THEN Remains(v, s, x) ELSE ent[x]]
  /\ UNCHANGED <<exec, fill>>
------------------------------------------------------------------------------
(* The fill, verification and repair                                       *)

\* R2
MayPutUnique(r, x) == \/ ent[x] = "none"
                      \/ Flaw("blind")
                      \/ Flaw("exists-only") /\ row[r] # NoRow /\ ent[x] \notin Row
PutUnique(r, w) ==
  /\ HasRead(r, w) /\ Spends(r, w)
  /\ LET x == tries[r][w]
     IN ent' = IF x # NoRow /\ May(r) /\ MayPutUnique(r, x) THEN [ent EXCEPT ![x] = r] ELSE ent

Lacking == {r \in Row : row[r] # NoRow /\ ent[row[r]] # r}
Orphans == {x \in Value : ent[x] \in Row /\ row[ent[x]] # x}
Fails   == todo' = Back("write-only") /\ found' = {} /\ UNCHANGED <<vers, fence, row, ent, fill>>

\* R10: by content, in both directions.  What is wrong fails the change, unless it can be repaired.
Verify ==
  /\ Comes("verify") /\ found = {}
  /\ \/ /\ Lacking = {} /\ Orphans = {} /\ todo' = Tail(todo)
        /\ UNCHANGED <<vers, fence, row, ent, fill, found>>
     \/ Lacking \cup Orphans # {} /\ Fails
     \/ \E r \in Lacking : /\ ent[row[r]] \notin Row /\ found' = {<<r, row[r]>>}
                           /\ UNCHANGED data

\* R10: the repair reads the row again.  If it is gone or has changed there is nothing to do.  It runs while the run is
\* open: after a cancel `found` is empty.
Repair ==
  /\ Comes("verify")
  /\ \E f \in found :
       IF row[f[1]] # f[2] /\ ~Flaw("not-read-again")
         THEN found' = {} /\ UNCHANGED data
         ELSE IF ent[f[2]] \in Others(f[1]) THEN Fails
         ELSE /\ ent' = [ent EXCEPT ![f[2]] = f[1]] /\ found' = {}
              /\ UNCHANGED <<exec, row, fill>>
------------------------------------------------------------------------------
InitUnique == /\ InitData /\ NoNodes /\ found = {}
              /\ \A r, q \in Row : Drops /\ r # q /\ row[r] # NoRow => row[r] # row[q]
              /\ ent = [x \in Value |-> IF Drops /\ \E r \in Row : row[r] = x
                                          THEN CHOOSE r \in Row : row[r] = x ELSE "none"]
UniqueNext ==
  \/ Verify \/ Repair
  \/ /\ UNCHANGED found
     /\ \/ \E v \in fence..Newest, s \in Statements : UniqueEffect(v, s)
        \/ PublishData \/ DrainData \/ PurgeEarly
        \/ \E what \in Acts \ {"cancel"} : ExecutorData(what)
        \/ \E r \in Row, w \in {1, 2} : PutUnique(r, w) \/ \E what \in Reads : ReadData(what, r, w)
  \/ ExecutorData("cancel") /\ found' = {}
Unique == InitUnique /\ [][UniqueNext /\ UNCHANGED nodes]_uvars
------------------------------------------------------------------------------
UniqueC3 == Under("absent") => \A x \in Value : ent[x] = "none"
UniqueC4 == Under("public") => Lacking = {}
UniqueC5 == Orphans = {}
\* C6: a public unique index holds no value twice.
UniqueC6 == Under("public") => \A r, q \in Row : r # q /\ row[r] # NoRow => row[r] # row[q]
UniqueC7 == todo = <<>> => \A x \in Value : ent[x] # "tomb"
==============================================================================
