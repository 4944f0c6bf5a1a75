/** The command of `--notify`: what it is told, and what counts as a yes. A real shell runs it. */
import { describe, expect, test } from 'vitest';
import { stringToText } from '../../../src/domain/text.ts';
import { floorNotice, notify, type FloorNotice } from '../../../src/release/notify.ts';
import { guardInput } from './guard-input.ts';

const about = { target: 'redis://10.0.0.4:6379', clusterId: '3f9c', reason: 'INC-4711' };
const fence = { kind: 'token', token: 41n, source: 'counter' } as const;
const never = new AbortController().signal;
const patienceMs = 60_000;

function notice(): FloorNotice {
  const { detail, preview } = guardInput({ detail: { fence } });
  const made = floorNotice(detail, preview, about);
  if (made === undefined) throw new Error('there is no floor');
  return made;
}

describe('the floor that a resource is told of', () => {
  test('is one above the token of the grant, or what the counter or the floor key will hold', () => {
    const record = stringToText('fence');
    const raisesFence = { from: 45n, to: 46n, record };
    const floorAt = (preview: object): unknown => {
      const input = guardInput({ detail: { fence }, preview });
      return floorNotice(input.detail, input.preview, about)?.floor;
    };
    expect(floorAt({})).toBe(42n);
    expect(floorAt({ raisesFence })).toBe(46n);
    expect(floorAt({ fenceFloor: { can: true, record, atLeast: 50n } })).toBe(50n);
  });

  test('does not exist for a lock without a fence', () => {
    const { detail, preview } = guardInput();
    expect(floorNotice(detail, preview, about)).toBeUndefined();
  });
});

describe('the command that tells it', () => {
  test('gets one JSON document on stdin, its tokens as decimal strings', async () => {
    // What the command prints is told only when it fails.
    const told = await notify('cat; exit 3', notice(), patienceMs, never);
    if (told.told) throw new Error('exit code 3 is no yes');
    const [why, document = ''] = told.reason.split(/: (.*)/s);
    expect(why).toBe('exit code 3');
    expect(document).toContain('"kind":"fence-floor","lock":"lock:eod"');
    const whole = await notify(
      `node -e '
        let text = "";
        process.stdin.on("data", (part) => (text += part)).on("end", () => {
          const { schemaVersion, oldToken, floor, reason } = JSON.parse(text);
          console.error([schemaVersion, typeof oldToken, oldToken, floor, reason].join(" "));
          process.exit(1);
        });'`,
      notice(),
      patienceMs,
      never,
    );
    expect(whole).toMatchObject({ told: false, reason: 'exit code 1: 1 string 41 42 INC-4711' });
  });

  test('says yes by exit code 0, whether it reads its input or not', async () => {
    expect(await notify('cat > /dev/null', notice(), patienceMs, never)).toEqual({
      told: true,
      floor: 42n,
    });
    expect(await notify('exec 0<&-; true', notice(), patienceMs, never)).toMatchObject({
      told: true,
    });
  });

  test('that fails, is not found or prints control characters is told safely', async () => {
    const failed = await notify(`printf '\\033[2Jno\\n' >&2; exit 7`, notice(), patienceMs, never);
    expect(failed).toMatchObject({ told: false, reason: 'exit code 7: \\x1b[2Jno' });
    const missing = await notify('/no/such/command', notice(), patienceMs, never);
    expect(missing).toMatchObject({ told: false });
    expect(missing).toHaveProperty('reason', expect.stringContaining('exit code 127'));
  });

  test('that does not end is ended with its children, and is no yes', async () => {
    const hangs = await notify('sleep 600 | cat', notice(), 50, never);
    expect(hangs).toMatchObject({ told: false, reason: 'no answer within 50ms' });
  });

  test('is ended by Ctrl-C', async () => {
    const abort = new AbortController();
    const telling = notify('sleep 600 | cat', notice(), patienceMs, abort.signal);
    abort.abort('SIGINT');
    await expect(telling).rejects.toMatchObject({ code: 'interrupted' });
  });
});
