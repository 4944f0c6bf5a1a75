/**
 * Asks the sentinels which server is the primary. All of them are asked, every time: one that was
 * cut off names a primary that is none any more.
 * Protocol: SENTINEL MASTER <name> answers a flat list of names and values.
 * https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/
 */
import { FencepostError, PermissionError, TargetError, UsageError } from '../../domain/errors.ts';
import type { Ability } from '../../domain/probe.ts';
import {
  displayEndpoint,
  displayTarget,
  reachableAt,
  type Endpoint,
  type Target,
} from '../../domain/target.ts';
import { bytesToText, stringToText } from '../../domain/text.ts';
import type { BackendOptions } from '../backend.ts';
import { RedisConnection } from './connection.ts';
import { badReply } from './errors.ts';
import { asArray, asBuffer } from './replies.ts';

/** What one sentinel says of the primary. */
export interface Testimony {
  /** `host:port` of the sentinel. */
  readonly sentinel: string;
  /** As announced. */
  readonly primary: Endpoint;
  readonly flags: readonly string[];
  readonly replicas: number;
  /** Grows with every failover; the sentinel with the highest has the latest news. */
  readonly configEpoch: number;
}

export interface SentinelView {
  readonly name: string;
  /** Reached from here: what most sentinels name, and among equals those with the latest news. */
  readonly primary: Endpoint;
  readonly testimonies: readonly [Testimony, ...Testimony[]];
  /** Sentences about sentinels that could not be asked. */
  readonly silent: readonly string[];
}

/** Connections to all sentinels of one target. */
export class Sentinels {
  readonly name: string;
  readonly #target: Target;
  readonly #connections: readonly Asked[];

  /** @throws {UsageError} when the target names no primary */
  constructor(target: Target, options: BackendOptions) {
    this.name = primaryName(target);
    this.#target = target;
    this.#connections = target.endpoints.map((endpoint) => new Asked(target, endpoint, options));
  }

  /**
   * Asks all of them at once.
   * @throws {UsageError} `unknown-primary` when they watch no primary of that name
   * @throws {TargetError | PermissionError} when none could be asked
   */
  async ask(signal: AbortSignal): Promise<SentinelView> {
    const answers = await Promise.all(
      this.#connections.map((one) => one.testify(this.name, signal).catch(asError)),
    );
    const errors = answers.filter((one) => one instanceof FencepostError);
    const [first, ...rest] = answers.flatMap((one) => (one instanceof FencepostError ? [] : [one]));
    if (first === undefined) throw this.#none(errors);
    const testimonies = [first, ...rest] as const;
    const announced = chosen(testimonies);
    return {
      name: this.name,
      primary: reachableAt(this.#target, announced),
      testimonies,
      silent: errors.map((error) => error.message),
    };
  }

  #none(errors: readonly FencepostError[]): FencepostError {
    // A clear no of one sentinel says more than the silence of the others.
    const clear = errors.find((one) => one instanceof UsageError || one instanceof PermissionError);
    if (clear !== undefined) return clear;
    return new TargetError(
      `none of the ${errors.length} sentinels of ${displayTarget(this.#target)} can be asked: ${errors[0]?.message ?? ''}`,
      {
        code: 'target-unreachable',
        hint: 'are these the ports of the sentinels (usually 26379)?',
        definite: true,
      },
    );
  }

  close(): void {
    for (const one of this.#connections) one.close();
  }
}

/** One sentinel. It may want the password of the servers, or know none. */
class Asked {
  readonly #endpoint: Endpoint;
  readonly #signedOn: RedisConnection;
  readonly #open: RedisConnection;

  constructor(target: Target, endpoint: Endpoint, options: BackendOptions) {
    const sentinel: Target = { ...target, kind: 'redis', endpoints: [endpoint], path: '' };
    this.#endpoint = endpoint;
    this.#signedOn = new RedisConnection(sentinel, options);
    this.#open = new RedisConnection(
      { ...sentinel, username: undefined, password: undefined },
      options,
    );
  }

  async testify(name: string, signal: AbortSignal): Promise<Testimony> {
    const [reply] = await this.#askEither(name, signal);
    if (reply instanceof Error) {
      if (/No such master/i.test(reply.message)) throw this.#unknownPrimary(name);
      throw reply;
    }
    return parseTestimony(displayEndpoint(this.#endpoint), reply);
  }

  async #askEither(name: string, signal: AbortSignal): Promise<unknown[]> {
    const command = ['SENTINEL', 'MASTER', name] as const;
    try {
      return await this.#signedOn.sendAll([command], { signal });
    } catch (error) {
      // The account is one of the servers; a sentinel has users of its own, or none at all.
      if (!(error instanceof PermissionError)) throw error;
      return await this.#open.sendAll([command], { signal }).catch(() => {
        throw error;
      });
    }
  }

  #unknownPrimary(name: string): UsageError {
    return new UsageError(
      `sentinel ${displayEndpoint(this.#endpoint)} watches no primary named "${stringToText(name)}"`,
      {
        code: 'unknown-primary',
        hint: 'the name is the first word of `sentinel monitor` in its configuration; list them: redis-cli -p PORT SENTINEL MASTERS',
        definite: true,
      },
    );
  }

  close(): void {
    this.#signedOn.close();
    this.#open.close();
  }
}

function primaryName(target: Target): string {
  const [name = '', ...more] = target.path.split('/');
  if (name !== '' && more.length === 0) return name;
  throw new UsageError(`${displayTarget(target)} names no primary`, {
    code: 'bad-target',
    hint: 'write redis+sentinel://host:26379,host:26379/PRIMARY_NAME',
    definite: true,
  });
}

function parseTestimony(sentinel: string, reply: unknown): Testimony {
  const flat = asArray(reply, 'SENTINEL MASTER').map((one) =>
    asBuffer(one, 'SENTINEL MASTER').toString(),
  );
  const field = (name: string): string | undefined => flat[flat.indexOf(name) + 1];
  const [host, port] = [field('ip'), Number(field('port'))];
  if (host === undefined || !Number.isInteger(port)) throw badReply('SENTINEL MASTER');
  return {
    sentinel,
    primary: { host, port },
    flags: (field('flags') ?? '').split(',').map((flag) => bytesToText(Buffer.from(flag))),
    replicas: Number(field('num-slaves') ?? 0),
    configEpoch: Number(field('config-epoch') ?? 0),
  };
}

function chosen(testimonies: readonly [Testimony, ...Testimony[]]): Endpoint {
  const votes = new Map<string, number>();
  for (const { primary } of testimonies) {
    const named = displayEndpoint(primary);
    votes.set(named, (votes.get(named) ?? 0) + 1);
  }
  const weight = (one: Testimony): number => votes.get(displayEndpoint(one.primary)) ?? 0;
  return testimonies.reduce((best, one) =>
    weight(one) > weight(best) ||
    (weight(one) === weight(best) && one.configEpoch > best.configEpoch)
      ? one
      : best,
  ).primary;
}

/** `Sentinel mymaster, 3 of 3 agree`. */
export function agreement({ name, testimonies, silent }: SentinelView): string {
  const total = testimonies.length + silent.length;
  return `Sentinel ${stringToText(name)}, ${agreeing(testimonies).length} of ${total} agree`;
}

/** What speaks against trusting the primary that was chosen. */
export function doubts(view: SentinelView): readonly string[] {
  const { testimonies, silent } = view;
  const named = displayEndpoint(chosen(testimonies));
  const others = testimonies.filter(({ primary }) => displayEndpoint(primary) !== named);
  return [
    ...others.map(
      ({ sentinel, primary }) =>
        `sentinel ${sentinel} names ${stringToText(displayEndpoint(primary))} as primary, the others ${stringToText(named)}`,
    ),
    ...silent.map((why) => `a sentinel cannot be asked: ${why}`),
  ];
}

/** Whether the sentinels see a healthy primary. */
export function health(view: SentinelView): Ability {
  for (const { sentinel, flags } of view.testimonies) {
    const bad = flags.filter((flag) =>
      /^(s_down|o_down|failover_in_progress|disconnected)$/.test(flag),
    );
    if (bad.length > 0) {
      return { can: false, reason: `sentinel ${sentinel} says of the primary: ${bad.join(', ')}` };
    }
  }
  const total = view.testimonies.length + view.silent.length;
  if (agreeing(view.testimonies).length * 2 <= total) {
    return {
      can: false,
      reason: `no majority of the ${total} sentinels names one primary`,
      remedy: doubts(view).join('; '),
    };
  }
  return { can: true };
}

function agreeing(testimonies: SentinelView['testimonies']): readonly Testimony[] {
  const named = displayEndpoint(chosen(testimonies));
  return testimonies.filter(({ primary }) => displayEndpoint(primary) === named);
}

function asError(error: unknown): FencepostError {
  if (error instanceof FencepostError) return error;
  throw error;
}
