/** How many rounds the release races have, in one place. */

/** In `npm test`: ten thousand in sum on each backend. */
export const shortRaces = {
  redis: { plain: 10_000, fenced: 500, redisson: 500 },
  etcd: { queue: 8_000, singleKey: 2_000 },
  zooKeeper: { plain: 5_000, written: 1_500, sequential: 2_000, guid: 1_500 },
} as const;

/** In `npm run soak`: this many for each layout on each topology. */
export const soakRace = 10_000;
