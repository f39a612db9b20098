import { join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { ownFolder } from '../core/data-folder.ts';
import type { ServerPeople } from '../keys/people.ts';

/** Who sends requests: the keys of `--keyfile`, invitations and sessions, and what each client has used. */
export async function peopleServices(
  { keyfile, port, password, adminpassword }: Settings,
  warn: (sentence: string) => void,
) {
  const path = keyfile === '' ? undefined : resolve(keyfile);
  // Changes of the file take effect within a second.
  const keys = path === undefined ? undefined : await (await import('../keys/keyring.ts')).openKeyring(path, warn);
  const { openUsageLog } = await import('../keys/usage-log.ts');
  const usage = await openUsageLog(join(ownFolder('state'), 'usage.json'), warn);
  let opened: Promise<ServerPeople> | undefined;
  const openPeople = async (): Promise<ServerPeople> =>
    (await import('../keys/people.ts')).openPeople({
      folder: ownFolder('state'),
      port,
      keyfile: path,
      ring: keys,
      password: password || undefined,
      adminPassword: adminpassword || undefined,
      warn,
    });
  const needsKey = keys !== undefined || Boolean(password || adminpassword);
  /** Loaded with the first cookie or invitation. Undefined where no key is needed. */
  const people = needsKey ? () => (opened ??= openPeople()) : undefined;
  return { keys, people, usage };
}
