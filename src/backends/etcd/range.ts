/**
 * Reads ranges of keys in pages, all at one revision. Pages are short, and shorter while their
 * answers are large, so neither a hundred thousand keys nor large values fill the memory.
 */
import type { IKeyValue, IRangeResponse, IResponseHeader } from 'etcd3';
import { FencepostError } from '../../domain/errors.ts';
import { bytesToText, type Text } from '../../domain/text.ts';
import type { EtcdLink } from '../../clients/etcd/link.ts';
import type { EtcdKey } from '../../conventions/convention.ts';
import { keyRange, type KeyRange } from './key-range.ts';
import { RangeSteps, type StepAnswer } from './range-steps.ts';

/** Which cluster answered, and at which point of its history. */
export interface Answer {
  /** Hex, as etcdctl prints it. */
  readonly clusterId: string;
  readonly memberId: string;
  readonly revision: bigint;
  readonly raftTerm: bigint;
}

export interface RangePage extends Answer {
  readonly keys: readonly EtcdKey[];
}

/** So that the first rows come at once. */
const firstPage = 500;
/** Longer pages took more memory (5,000: 15 MiB) and no less time. */
const longestPage = 1000;
/** Sizes of an answer between which the page stays as it is. */
const pageBytes = { small: 1_000_000, large: 4_000_000 } as const;
/** No lock writes more; of a longer value only the beginning is kept. */
const longestValue = 1024;

export interface RangeHow {
  readonly signal: AbortSignal;
  /** Read the past; default: the present of the first page, for all pages. */
  readonly revision?: bigint;
  /** Upper bound of one page. */
  readonly pageLimit?: number;
}

/**
 * @throws {PermissionError} `permission-denied`
 * @throws {TargetError} `compacted` when the revision went away between two pages
 */
export async function* readRange(
  link: EtcdLink,
  range: KeyRange,
  how: RangeHow,
): AsyncGenerator<RangePage> {
  const most = Math.min(how.pageLimit ?? longestPage, longestPage);
  const steps = new RangeSteps(range);
  let isFirst = true;
  let limit = Math.min(firstPage, most);
  let revision = how.revision;
  for (;;) {
    const page = await readPage(link, steps.step(), revision, limit, how.signal);
    if (page === 'too-big') {
      limit = Math.max(1, Math.floor(limit / 8));
      continue;
    }
    const answer = toAnswer(page.header);
    revision ??= answer.revision;
    if (isFirst || page.kvs.length > 0) yield { ...answer, keys: page.kvs.map(toKey) };
    isFirst = false;
    if (!steps.took(stepAnswer(page), limit)) return;
    if (page.more) limit = nextLimit(limit, most, page);
  }
}

async function readPage(
  link: EtcdLink,
  range: KeyRange,
  revision: bigint | undefined,
  limit: number,
  signal: AbortSignal,
): Promise<IRangeResponse | 'too-big'> {
  const request = {
    key: Buffer.from(range.from),
    ...(range.end === undefined ? {} : { range_end: Buffer.from(range.end) }),
    ...(revision === undefined ? {} : { revision: String(revision) }),
    limit,
  };
  try {
    return await link.read((api, options) => api.kv.range(request, options), { signal });
  } catch (error) {
    const tooBig = error instanceof FencepostError && error.code === 'reply-too-big';
    if (tooBig && limit > 1) return 'too-big';
    throw error;
  }
}

function stepAnswer({ kvs, more, count }: IRangeResponse): StepAnswer {
  const [first, last] = [kvs[0]?.key, kvs.at(-1)?.key];
  return { first, last, returned: kvs.length, more, count: Number(count) };
}

function nextLimit(limit: number, most: number, { kvs }: IRangeResponse): number {
  const bytes = kvs.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  if (bytes < pageBytes.small) return Math.min(most, limit * 4);
  return bytes > pageBytes.large ? Math.max(1, Math.floor(limit / 4)) : limit;
}

/** Reads exactly one key, at the present. */
export async function readKey(
  link: EtcdLink,
  key: Text,
  signal: AbortSignal,
): Promise<Answer & { readonly key: EtcdKey | undefined }> {
  for await (const page of readRange(link, keyRange(key), { signal })) {
    return { ...page, key: page.keys[0] };
  }
  throw new Error('a range answers with one page at least');
}

export function toAnswer(header: IResponseHeader): Answer {
  return {
    clusterId: BigInt(header.cluster_id).toString(16),
    memberId: BigInt(header.member_id).toString(16),
    revision: BigInt(header.revision),
    raftTerm: BigInt(header.raft_term),
  };
}

export function toKey(kv: IKeyValue): EtcdKey {
  return {
    key: bytesToText(kv.key),
    value: bytesToText(kv.value.subarray(0, longestValue)),
    createRevision: BigInt(kv.create_revision),
    modRevision: BigInt(kv.mod_revision),
    version: BigInt(kv.version),
    lease: BigInt(kv.lease),
  };
}
