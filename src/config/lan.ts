import { join } from 'node:path';
import { ownFolder } from '../core/data-folder.ts';
import type { Settings } from './flags.ts';

/** The file of `parley keys`, which `--lan` uses without `--keyfile`. */
export const defaultKeyFile = (): string => join(ownFolder('config'), 'keys.json');

type LanSettings = Pick<Settings, 'lan' | 'noowner' | 'password' | 'adminpassword' | 'keyfile'>;

/** Whether requests from this machine itself need no key, although others do: no key or password was configured for it. */
export function isOwnerOnLoopback({ lan, noowner, password, adminpassword, keyfile }: LanSettings): boolean {
  return lan && !noowner && !password && !adminpassword && keyfile === defaultKeyFile();
}
