/**
 * A bare walk: the children of every node, 64 requests in flight; prints the names. No error is
 * handled. Argument: the port.
 */
import zooKeeper from 'node-zookeeper-client';

const inFlight = 64;
const frontier = ['/'];
let waiting = 0;

const client = zooKeeper.createClient(`127.0.0.1:${process.argv[2] ?? ''}`);
client.once('connected', visitMore);
client.connect();

function visitMore(): void {
  while (waiting < inFlight) {
    const path = frontier.pop();
    if (path === undefined) break;
    waiting += 1;
    client.getChildren(path, (_error, children) => {
      waiting -= 1;
      const base = path === '/' ? '' : path;
      for (const child of children) frontier.push(`${base}/${child}`);
      if (children.length > 0) process.stdout.write(`${children.join('\n')}\n`);
      visitMore();
    });
  }
  if (waiting === 0) client.close();
}
