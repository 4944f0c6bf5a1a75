/**
 * One member of an etcd cluster behind etcd3, with everything taken out that acts by itself: no
 * retries, no circuit breaker, no proxy from the environment, no second try for a refused token.
 */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { rootCertificates } from 'node:tls';
import { InterceptingCall, status, type CallOptions, type Interceptor } from '@grpc/grpc-js';
import { noop } from 'cockatiel';
import { Etcd3, type IOptions } from 'etcd3';
import { UsageError } from '../../domain/errors.ts';
import { displayEndpoint, type Endpoint, type TlsOptions } from '../../domain/target.ts';
import { tokenRefusal } from './errors.ts';

/** The part of etcd3 that fencepost uses: the plain calls, none of its helpers. */
export type EtcdApi = Pick<
  Etcd3,
  'kv' | 'leaseClient' | 'watchClient' | 'maintenance' | 'cluster' | 'auth' | 'close'
>;

export interface Member {
  /** `host:port`. */
  readonly name: string;
  readonly api: EtcdApi;
}

/** TLS files, read once. */
export interface Credentials {
  readonly options: Pick<IOptions, 'credentials'>;
  readonly serverName: string | undefined;
}

/** @throws {UsageError} `bad-tls-file` */
export function readCredentials(tls: TlsOptions): Credentials {
  const ca = read(tls.caFile) ?? Buffer.from(rootCertificates.join('\n'));
  const key = read(tls.keyFile);
  const cert = read(tls.certFile);
  return {
    options: {
      credentials: {
        rootCertificate: ca,
        ...(key === undefined ? {} : { privateKey: key }),
        ...(cert === undefined ? {} : { certChain: cert }),
      },
    },
    serverName: tls.serverName,
  };
}

function read(file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new UsageError(`cannot read "${file}"`, {
      code: 'bad-tls-file',
      hint: 'check the ca=, cert= and key= files in the URL',
      cause,
      definite: true,
    });
  }
}

/** Opens nothing yet. */
export function openMember(endpoint: Endpoint, credentials: Credentials | undefined): Member {
  const name = displayEndpoint(endpoint);
  const serverName = credentials?.serverName;
  // gRPC gives an address as the TLS server name; Node warns of that, and the user can do nothing.
  if (credentials !== undefined && isIP(endpoint.host) !== 0) {
    Object.assign(process, { noDeprecation: true });
  }
  const api = new Etcd3({
    hosts: [`${credentials === undefined ? 'http' : 'https'}://${name}`],
    faultHandling: { host: () => noop, global: noop },
    ...credentials?.options,
    grpcOptions: {
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.enable_http_proxy': 0,
      // A broken member is asked again soon, and never through the state of somebody else's channel.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1000,
      // Finds a half-open connection under a long watch; etcd tolerates one ping in five seconds.
      'grpc.keepalive_time_ms': 10_000,
      'grpc.keepalive_timeout_ms': 5000,
      'grpc.max_receive_message_length': 32 * 1024 * 1024,
      ...(serverName === undefined
        ? {}
        : {
            'grpc.ssl_target_name_override': serverName,
            'grpc.default_authority': serverName,
          }),
    },
  });
  return { name, api };
}

export interface CallSetup {
  readonly token: string | undefined;
  /** Fails at once instead of waiting when the member sees no leader. */
  readonly requireLeader: boolean;
  readonly signal: AbortSignal;
  /** Undefined for streams, which have no deadline. */
  readonly timeoutMs: number | undefined;
}

/** Call options with deadline, token and the caller's signal. */
export function callOptions(setup: CallSetup): CallOptions {
  return {
    ...(setup.timeoutMs === undefined ? {} : { deadline: Date.now() + setup.timeoutMs }),
    interceptors: [interceptor(setup)],
  };
}

function interceptor({ token, requireLeader, signal }: CallSetup): Interceptor {
  return (options, nextCall) => {
    const call = new InterceptingCall(nextCall(options), {
      start(metadata, _listener, next) {
        if (requireLeader) metadata.set('hasleader', 'true');
        if (token !== undefined) metadata.set('token', token);
        next(metadata, {
          onReceiveStatus(reply, nextStatus) {
            signal.removeEventListener('abort', cancel);
            nextStatus({
              ...reply,
              details: reply.details.replace(tokenRefusal.theirs, tokenRefusal.ours),
            });
          },
        });
      },
    });
    const cancel = (): void => {
      call.cancelWithStatus(status.CANCELLED, 'interrupted');
    };
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    return call;
  };
}
