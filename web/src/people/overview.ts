import { call, read } from '../api/call.ts';
import type { DayUsage, ListedKey } from '../keys/keys.ts';
import { type ListedSession, type OpenInvitation, type Overview, type OwnSession, peopleOf } from './people.ts';

const background = { background: true } as const;

export const ownSession = (): Promise<OwnSession> => read('api/extra/session', background);

/** All that administrators see. */
export async function readOverview(): Promise<Overview> {
  const [keys, usage, { sessions }, { invitations }] = await Promise.all([
    read<readonly ListedKey[]>('api/admin/keys', background),
    read<readonly DayUsage[]>('api/admin/usage?days=30', background),
    read<{ sessions: readonly ListedSession[] }>('api/admin/sessions', background),
    openInvitations(),
  ]);
  return { people: peopleOf(keys, usage, sessions), invitations };
}

const openInvitations = (): Promise<{ invitations: readonly OpenInvitation[] }> =>
  read('api/admin/invitations', background);

/** Whether its link can still be used. */
export const isOpen = async ({ id }: Pick<OpenInvitation, 'id'>): Promise<boolean> =>
  (await openInvitations()).invitations.some((one) => one.id === id);

export const withdraw = ({ id }: Pick<OpenInvitation, 'id'>): Promise<unknown> =>
  call(`api/admin/invitations/${encodeURIComponent(id)}`, { method: 'DELETE' });
