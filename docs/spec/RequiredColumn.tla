---------------------------- MODULE RequiredColumn ----------------------------
(***************************************************************************)
(* OnlineIndex for a required column: clauses C1 and C2.  The plan, the    *)
(* executor and the fill are those of OnlineIndex.                         *)
(*                                                                         *)
(* A row has one pair of the column, under its own key:                    *)
(*   ent[r]   the stored value of row r, "tomb" for a tombstone, or "none" *)
(*   row[r]   NoRow, "unnamed", or the value that a client gave the row    *)
(* Only a public column can be named: an insert in write-only puts the     *)
(* default, and the fill puts the fill value where nothing is.  A reader   *)
(* finds the fill value where a pair is missing.                           *)
(*                                                                         *)
(* Of the two grains of OnlineIndex this module has Atomic.                *)
(***************************************************************************)
EXTENDS OnlineIndex

CONSTANTS FillValue, Default   \* two of Value, so that they cannot be mistaken
------------------------------------------------------------------------------
Stored(r) == ent[r] \in Value
Read(r)   == IF Stored(r) THEN ent[r] ELSE FillValue

\* Section 3, a line each.
Insert(v, r, x) == /\ row[r] = NoRow /\ x \in (IF vers[v] = "public" THEN Value ELSE {"unnamed"})
                   /\ ent' = [ent EXCEPT ![r] = CASE vers[v] = "public" -> x
                                                  [] vers[v] = "write-only" -> Default
                                                  [] OTHER -> @]
Update(v, r, x) == /\ row[r] # NoRow /\ vers[v] = "public" /\ x \in Value /\ x # Read(r)
                   /\ ent' = [ent EXCEPT ![r] = x]
\* R5: under filling a removal leaves a tombstone.
Delete(v, r, x) == /\ row[r] # NoRow /\ x = NoRow
                   /\ ent' = [ent EXCEPT ![r] = IF vers[v] = "absent" THEN @
                                                ELSE IF ~Filling(v) THEN "none"
                                                ELSE IF Flaw("seen-only") /\ ~Stored(r) THEN @ ELSE "tomb"]
ColumnEffect(v) == \E r \in Row, x \in Value \cup {NoRow, "unnamed"} :
                     /\ Insert(v, r, x) \/ Update(v, r, x) \/ Delete(v, r, x)
                     /\ row' = [row EXCEPT ![r] = x] /\ UNCHANGED <<exec, fill>>
------------------------------------------------------------------------------
(* The fill                                                                *)

\* R1, R2: it reads which rows lack their pair, if the newest version fills.
ReadColumn(r, w) ==
  /\ Comes("fill") /\ tries[r][w] = "unread" /\ May(r)
  /\ tries' = [tries EXCEPT ![r][w] = IF Filling(Newest) /\ row[r] # NoRow /\ ~Stored(r) THEN FillValue ELSE NoRow]
  /\ UNCHANGED <<exec, row, ent, done>>

\* R2: where there is neither a pair nor a tombstone.
MayPutColumn(r) == \/ ent[r] = "none"
                   \/ Flaw("blind")
                   \/ Flaw("exists-only") /\ row[r] # NoRow /\ ~Stored(r)
PutColumn(r, w) ==
  /\ HasRead(r, w) /\ Spends(r, w)
  /\ ent' = IF tries[r][w] # NoRow /\ May(r) /\ MayPutColumn(r) THEN [ent EXCEPT ![r] = FillValue] ELSE ent
------------------------------------------------------------------------------
InitColumn == /\ vers = IF Beside THEN Stages ELSE <<Stages[1]>>
              /\ fence = 1 /\ todo = IF Beside THEN <<Step("drain")>> ELSE From(2)
              /\ row \in [Row -> {NoRow} \cup (IF Beside THEN {} ELSE IF Drops THEN Value ELSE {"unnamed"})]
              /\ ent = [r \in Row |-> IF row[r] \in Value THEN row[r] ELSE "none"]
              /\ tries = Unread /\ done = {} /\ NoNodes
ColumnNext ==
  \/ \E v \in fence..Newest : ColumnEffect(v)
  \/ PublishData \/ DrainData \/ PurgeEarly
  \/ \E what \in Acts : ExecutorData(what)
  \/ \E r \in Row, w \in {1, 2} : ReadColumn(r, w) \/ PutColumn(r, w) \/ ReadData("again", r, w)
Column == InitColumn /\ [][ColumnNext /\ UNCHANGED nodes]_vars
------------------------------------------------------------------------------
\* C1: a pair of the column belongs to an existing row, and to a column that the version contains.
C1 == /\ Under("absent") => \A r \in Row : ent[r] = "none"
      /\ \A r \in Row : Stored(r) => row[r] # NoRow
\* C2: every row has a pair of a required public column.
C2 == Under("public") => \A r \in Row : row[r] # NoRow => Stored(r)
ColumnC7 == todo = <<>> => \A r \in Row : ent[r] # "tomb"
\* A reader finds the value that was acknowledged.
LostWrite == Under("public") => \A r \in Row : row[r] \in Value => Read(r) = row[r]
==============================================================================
