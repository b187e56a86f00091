/* Does any planned restart take more replicas of a shard away than its cap allows?
 *
 * One shard with three replicas, one on each server, of which CAP may be away for planned restarts.
 * Two cluster managers, each with servers of its own, want to restart every server. Leaders come
 * and go: a deposed one goes on until its next write is refused. Servers crash, and come back.
 *
 * What is modelled of docs/decisions/0021:
 *  - an approval, and GO, are stored under the leader's fence before a manager is told of them;
 *  - GO is given by a decision that looks at all servers after the manager said that it would act;
 *  - what has begun counts as away until its server is seen in a later life, whatever its manager
 *    says; a replica that is being loaded counts as away, too;
 *  - a leader hears of a crash when the server's session ends, and of a new life when it registers.
 * Decisions see the newest report of one manager at a time; of the other's operations they keep what
 * is held, unless there is no room left.
 *
 * Tied to the code in docs/invariants.md. Switches, for mutants: FORGETS_APPROVALS, TELLS_FIRST,
 * NO_FENCE, PER_MANAGER, NO_LOOK, COUNTS_LOADING, FINISHED_BY_WORD, GIVES_UP_EARLY, FORMER_LIVES. And
 * NEVER_ENDS claims that not everything is ever restarted, which must be wrong.
 */
#define SERVERS 3          /* and operations: operation o restarts server o */
#ifndef CAP
#define CAP 1
#endif
#define LEAST (SERVERS - CAP)
#define MANAGER(o) ((o) / 2)
#ifndef ELECTIONS
#define ELECTIONS 1        /* after the first one */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

/* Of an operation, as it is held and as its manager is told. */
#define NONE 0
#define APPROVED 1
#define BEGUN 2            /* its manager is told GO */
/* Of an operation at its manager. */
#define WAITS 0
#define CLAIMS 1           /* it reports BEGIN, and acts when it is told GO */
#define GOES 2             /* it was told GO */
#define STOPPED 3
#define FINISHED 4         /* it says so, and may lie: the server may not be back */
#define DROPPED 5          /* it lost its memory, and reports it no more */

typedef Ops { byte stage[SERVERS]; byte life[SERVERS] };

/* ---- servers, and what the store knows of them ---- */
bool up[SERVERS] = true;
byte life[SERVERS] = 1;
byte live[SERVERS] = 1;    /* the life whose session is there; 0: none */
byte newest[SERVERS] = 1;  /* the newest life that has registered */
bool loaded[SERVERS] = true;
bool said_loaded[SERVERS] = true;  /* the server's last word, of the life in `live` */
bool takes[SERVERS];       /* its replica was there when GO was decided (what is being loaded, may be restarted) */
bool planned[SERVERS];     /* a manager stopped it, which took its replica; that is not loaded again */
byte crashes = 0;

/* ---- managers ---- */
byte stage[SERVERS];
byte about[SERVERS] = 1;   /* the life that the operation names */
Ops mail;                  /* the newest answer that is on its way */

/* ---- the store's record ---- */
Ops record;
byte store_epoch = 1;

/* ---- leaders: one that leads, and one that may not know that it is deposed ---- */
#define LEADERS 2
bool on[LEADERS];
byte epoch[LEADERS];
Ops held[LEADERS];
Ops next[LEADERS];         /* is being written, if `out` */
#define IDLE 0
#define OUT 1
#define TAKEN 2            /* by the store; the leader does not know yet */
byte out[LEADERS];
byte asked[LEADERS];       /* the manager whose report is to be answered */

inline Count() {
  d_step {
    i = 0; away = 0;
    do
    :: i < SERVERS -> away = away + planned[i]; i++
    :: else -> break
    od;
    i = 0
  }
}

#define HEALTHY(o) (live[o] != 0 && (said_loaded[o] || COUNTED_LOADING))
#ifdef COUNTS_LOADING
#define COUNTED_LOADING 1
#else
#define COUNTED_LOADING 0
#endif
#ifdef PER_MANAGER
#define COUNTS(o, m) (MANAGER(o) == m)
#else
#define COUNTS(o, m) 1
#endif
#ifdef FORMER_LIVES
#define LIVES_DO_NOT_COUNT true
#define LATER_LIFE(o, l) false
#else
#define LIVES_DO_NOT_COUNT false
#define LATER_LIFE(o, l) (newest[o] > held[l].life[o])
#endif
/* The time that an operation may take, and a minute, are over: if its manager has stopped the server,
   then the session of that life has ended, too. */
#ifdef GIVES_UP_EARLY
#define TIME_IS_OVER(o) true
#else
#define TIME_IS_OVER(o) (live[o] == 0 || (up[o] && life[o] == live[o]))
#endif

/* What has begun and is over is taken out; and what is not wanted any more. */
inline Sweep(l, m) {
  i = 0;
  do
  :: i < SERVERS ->
     next[l].stage[i] = held[l].stage[i];
     next[l].life[i] = held[l].life[i];
     if
     :: held[l].stage[i] == BEGUN && MANAGER(i) == m && stage[i] >= FINISHED && newest[i] > held[l].life[i] ->
        next[l].stage[i] = NONE
     :: held[l].stage[i] == BEGUN && MANAGER(i) == m && stage[i] == DROPPED && TIME_IS_OVER(i) ->
        next[l].stage[i] = NONE
#ifdef FINISHED_BY_WORD
     :: held[l].stage[i] == BEGUN && MANAGER(i) == m && stage[i] == FINISHED -> next[l].stage[i] = NONE
#endif
     :: held[l].stage[i] == APPROVED && LATER_LIFE(i, l) -> next[l].stage[i] = NONE
     :: held[l].stage[i] == APPROVED && MANAGER(i) == m && (stage[i] >= FINISHED || about[i] != held[l].life[i]) ->
        next[l].stage[i] = NONE
     :: else
     fi;
     if
     :: next[l].stage[i] == NONE -> next[l].life[i] = 0
     :: else
     fi;
     i++
  :: else -> break
  od
}

/* How many more may be away. */
inline Room(l, m) {
  i = 0; room = 0;
  do
  :: i < SERVERS ->
     if
     :: !COUNTS(i, m) || (HEALTHY(i) && next[l].stage[i] != BEGUN) -> room++
     :: else
     fi;
     i++
  :: else -> break
  od;
  room = (room > LEAST -> room - LEAST : 0)
}

/* What is approved keeps its room, or is withdrawn. */
inline Keep(l, m) {
  i = 0;
  do
  :: i < SERVERS ->
     if
     :: next[l].stage[i] == APPROVED && HEALTHY(i) && COUNTS(i, m) ->
        if
        :: room > 0 -> room--
#ifndef NO_LOOK
        :: else -> next[l].stage[i] = NONE; next[l].life[i] = 0
#else
        :: else
#endif
        fi
     :: else
     fi;
     i++
  :: else -> break
  od
}

/* The first operation of the manager that waits and has room; and those that it is about to begin. */
inline Advance(l, m) {
  i = 0;
  do
  :: i < SERVERS ->
     if
     :: MANAGER(i) == m && next[l].stage[i] == NONE && stage[i] <= CLAIMS && held[l].stage[i] == NONE &&
        (about[i] == newest[i] || LIVES_DO_NOT_COUNT) && live[i] != 0 && (!HEALTHY(i) || room > 0) ->
        room = (HEALTHY(i) -> room - 1 : room);
        next[l].stage[i] = APPROVED;
        next[l].life[i] = about[i]
     :: MANAGER(i) == m && next[l].stage[i] == APPROVED && held[l].stage[i] == APPROVED && stage[i] == CLAIMS ->
        next[l].stage[i] = BEGUN;
        CheckGo(l, i)
     :: else
     fi;
     i++
  :: else -> break
  od
}
/* Whoever may be told GO is the server that the operation means; and with it and all whose loss the
   store knows of, no more than CAP are away. (If it is away itself, nothing is lost.) */
inline CheckGo(l, o) {
  assert(newest[o] == next[l].life[o]);
  takes[o] = live[o] != 0 && said_loaded[o];
  j = 0; away = 0;
  do
  :: j < SERVERS -> away = away + (j == o || live[j] == 0 || !said_loaded[j]); j++
  :: else -> break
  od;
  assert(!takes[o] || away <= CAP);
  j = 0; away = 0
}

/* The manager hears of its operations what is held now. */
inline Tell(l, what) {
  i = 0;
  do
  :: i < SERVERS ->
     if
     :: MANAGER(i) == asked[l] -> mail.stage[i] = what.stage[i]; mail.life[i] = what.life[i]
     :: else
     fi;
     i++
  :: else -> break
  od;
  i = 0
}

inline Same(l) {
  i = 0; same = true;
  do
  :: i < SERVERS -> same = same && next[l].stage[i] == held[l].stage[i] && next[l].life[i] == held[l].life[i]; i++
  :: else -> break
  od;
  i = 0
}

inline Forget(ops) {
  i = 0;
  do
  :: i < SERVERS -> ops.stage[i] = NONE; ops.life[i] = 0; i++
  :: else -> break
  od;
  i = 0
}

inline Copy(to, from) {
  i = 0;
  do
  :: i < SERVERS -> to.stage[i] = from.stage[i]; to.life[i] = from.life[i]; i++
  :: else -> break
  od;
  i = 0
}

proctype Leader(byte l) {
  byte i, j, room, away, m;
  bool same;
  do
  /* A report of a manager. */
  :: atomic {
       on[l] && out[l] == IDLE ->
       if
       :: m = 0
       :: m = 1
       fi;
       d_step {
         asked[l] = m;
         Sweep(l, m); Room(l, m); Keep(l, m); Advance(l, m); Same(l);
         if
         :: same -> Tell(l, held[l])
         :: else ->
            out[l] = OUT;
#ifdef TELLS_FIRST
            Tell(l, next[l])
#endif
         fi;
         if
         :: same -> Forget(next[l])
         :: else
         fi;
         room = 0; m = 0; same = false
       }
     }
  /* The store takes what is written, unless the leader is deposed. */
  :: d_step {
       on[l] && out[l] == OUT ->
#ifdef NO_FENCE
       Copy(record, next[l]); out[l] = TAKEN
#else
       if
       :: epoch[l] == store_epoch -> Copy(record, next[l]); out[l] = TAKEN
       :: else -> on[l] = false; out[l] = IDLE; Forget(next[l]); Forget(held[l]); epoch[l] = 0; asked[l] = 0
       fi
#endif
     }
  :: d_step {
       on[l] && out[l] == TAKEN ->
       Copy(held[l], next[l]); Forget(next[l]); Tell(l, held[l]); out[l] = IDLE
     }
  /* It is gone; what it has sent to the store may have been taken, or not. */
  :: d_step {
       on[l] && store_epoch <= ELECTIONS ->
       on[l] = false; out[l] = IDLE; Forget(next[l]); Forget(held[l]); epoch[l] = 0; asked[l] = 0
     }
  /* It is elected, and reads what is stored. The other one may still be there. */
  :: d_step {
       !on[l] && store_epoch <= ELECTIONS ->
       store_epoch++;
       on[l] = true; epoch[l] = store_epoch;
#ifdef FORGETS_APPROVALS
       skip
#else
       Copy(held[l], record)
#endif
     }
  od
}

proctype Server(byte s) {
  byte i, away;
  do
  :: d_step { up[s] && crashes < CRASHES -> crashes++; up[s] = false; loaded[s] = false }
  :: d_step { live[s] != 0 && (!up[s] || life[s] != live[s]) -> live[s] = 0; said_loaded[s] = false }
  /* Whoever watches over it starts it anew. */
  :: d_step { !up[s] -> up[s] = true; life[s]++ }
  /* Only when the session of its former life is over. */
  :: d_step { up[s] && live[s] == 0 && newest[s] < life[s] -> live[s] = life[s]; newest[s] = life[s] }
  :: d_step { up[s] && live[s] == life[s] && !loaded[s] -> loaded[s] = true; said_loaded[s] = true; planned[s] = false }
  od
}

/* What becomes of one operation at its manager. */
proctype Operation(byte o) {
  byte i, away;
  do
  :: d_step { stage[o] == WAITS && mail.stage[o] == APPROVED && mail.life[o] == about[o] -> stage[o] = CLAIMS }
  :: d_step { stage[o] == CLAIMS && mail.stage[o] == NONE -> stage[o] = WAITS }
  :: d_step { stage[o] == CLAIMS && mail.stage[o] == BEGUN && mail.life[o] == about[o] -> stage[o] = GOES }
  /* The server has begun a new life by itself. */
  :: d_step { stage[o] <= CLAIMS && newest[o] > about[o] -> about[o] = newest[o]; stage[o] = WAITS }
  :: d_step {
       stage[o] == GOES ->
       if
       :: up[o] && life[o] == about[o] ->
          up[o] = false; loaded[o] = false; planned[o] = takes[o]; stage[o] = STOPPED;
          Count();
          assert(away <= CAP)
       :: else -> stage[o] = FINISHED
       fi;
       away = 0
     }
  :: d_step {
       stage[o] == STOPPED -> stage[o] = FINISHED;
#ifdef NEVER_ENDS
       assert(stage[0] != FINISHED || stage[1] != FINISHED || stage[2] != FINISHED)
#endif
     }
  /* The manager loses its memory: it will not stop the server any more. */
  :: d_step { o == 0 && stage[o] > WAITS && stage[o] < FINISHED -> stage[o] = DROPPED }
  od
}

init {
  atomic {
    on[0] = true; epoch[0] = 1;
    run Leader(0); run Leader(1);
    run Server(0); run Server(1); run Server(2);
    run Operation(0); run Operation(1); run Operation(2)
  }
}
