import { type Call, json } from '../../http/call.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { nativeFamily } from './errors.ts';

/**
 * `shutdown` is there with `--singleinstance` only: a new instance asks the old one on the port to make room. It must
 * leave this reply time to go out.
 */
export function shutdownEndpoint(shutdown: (() => void) | undefined): PlainEndpoint {
  return {
    method: 'POST',
    match: 'exact',
    path: '/api/extra/shutdown',
    access: 'guarded',
    queued: false,
    summary: 'End the server, from this machine and with --singleinstance only.',
    family: nativeFamily,
    handle: (call) => {
      const success = shutdown !== undefined && isLocal(call);
      if (success) shutdown();
      return json({ success });
    },
  };
}

function isLocal({ remoteAddress }: Call): boolean {
  return remoteAddress === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(remoteAddress);
}
