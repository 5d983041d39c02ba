
idleZ2
timers J
seldomr€”λάJ
oftenz
n