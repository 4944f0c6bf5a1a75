/** Times that runner and workers of a run share, in ms. */

/** Deadline of one request to the lock service or the resource. */
export const requestTimeoutMs = 2000;

/** How often a worker says that it is alive. */
export const heartbeatEveryMs = 50;
