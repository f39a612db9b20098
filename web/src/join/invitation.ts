import { call, read } from '../api/call.ts';
import { Failure } from '../api/failure.ts';
import { isSignedIn } from '../api/key.svelte.ts';

/** What `POST /api/extra/join/preview` says of a link. */
export interface Preview {
  readonly name: string;
  /** For another device of a person who is here already. */
  readonly existing: boolean;
  readonly scopes?: readonly string[];
  readonly tokens_per_day?: number | null;
  readonly rate?: number | null;
  readonly shared?: boolean;
  readonly key_expires?: string | null;
  readonly minutes_left: number;
  readonly by: string;
  readonly state: 'open' | 'used' | 'expired';
}

/** Why nobody can join with a link. */
export type Obstacle =
  | 'missing'
  | 'unknown'
  | 'used'
  | 'expired'
  | 'none-here'
  | 'too-many'
  | 'unreachable'
  | 'cookies';

export async function preview(token: string): Promise<Preview | Obstacle> {
  if (token === '') return 'missing';
  try {
    const invitation = await read<Preview>('api/extra/join/preview', { body: { token }, background: true });
    return invitation.state === 'open' ? invitation : invitation.state;
  } catch (thrown) {
    return obstacleOf(thrown);
  }
}

/** Undefined if it worked: this browser is signed in. */
export async function join(token: string): Promise<Obstacle | undefined> {
  // Nobody would be signed in, and a link works once.
  if (!navigator.cookieEnabled) return 'cookies';
  try {
    await call('api/extra/join', { body: { token }, background: true });
  } catch (thrown) {
    const obstacle = obstacleOf(thrown);
    if (obstacle !== 'used' && obstacle !== 'unknown') return obstacle;
    const again = await preview(token);
    if (typeof again === 'string') return again;
    // The server knows the link, but takes the page for that of another server: a proxy replaces `Host`.
    return obstacle === 'unknown' ? 'cookies' : 'used';
  }
  return (await isSignedIn().catch(() => true)) ? undefined : 'cookies';
}

/** By the status: sentences of the server are English only. */
function obstacleOf(thrown: unknown): Obstacle {
  const status = thrown instanceof Failure ? thrown.status : undefined;
  const obstacles: Readonly<Record<number, Obstacle>> = {
    400: 'none-here',
    403: 'unknown',
    409: 'expired',
    410: 'used',
    429: 'too-many',
  };
  return obstacles[status ?? 0] ?? 'unreachable';
}

/** Who invites, where it is a person: others are the console, the owner of the machine and the administrator. */
export function inviter({ by }: Pick<Preview, 'by'>): string | undefined {
  return ['console', 'owner', 'admin'].includes(by) ? undefined : by;
}
