import { join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { ownFolder } from '../core/data-folder.ts';
import type { Keyring } from '../keys/keyring.ts';
import type { ServerPeople } from '../keys/people.ts';

type Warn = (sentence: string) => void;

/** Who sends requests: the keys of `--keyfile`, invitations and sessions, and what each client has used. */
export async function peopleServices(settings: Settings, warn: Warn) {
  const keys = await keyring(settings, warn);
  const { openUsageLog } = await import('../keys/usage-log.ts');
  const usage = await openUsageLog(join(ownFolder('state'), 'usage.json'), warn);
  return { keys, people: peopleOf(settings, keys, warn), usage };
}

/** Changes of the file take effect within a second. */
async function keyring({ keyfile }: Settings, warn: Warn): Promise<Keyring | undefined> {
  if (keyfile === '') return undefined;
  const { openKeyring } = await import('../keys/keyring.ts');
  return openKeyring(resolve(keyfile), warn);
}

/** Loaded with the first cookie or invitation. Undefined where no key is needed. */
function peopleOf({ keyfile, port, password, adminpassword }: Settings, ring: Keyring | undefined, warn: Warn) {
  if (keyfile === '' && password === '' && adminpassword === '') return undefined;
  let people: Promise<ServerPeople> | undefined;
  return (): Promise<ServerPeople> => {
    people ??= import('../keys/people.ts').then(({ openPeople }) =>
      openPeople({
        folder: ownFolder('state'),
        port,
        keyfile: keyfile === '' ? undefined : resolve(keyfile),
        ring,
        password: password || undefined,
        adminPassword: adminpassword || undefined,
        warn,
      }),
    );
    return people;
  };
}
