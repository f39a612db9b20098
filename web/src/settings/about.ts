import type { About } from '../models/server.svelte.ts';

/** `Parley 0.1.0 (commit 1a2b3c)` */
export function aboutLine({ name, version, commit }: Pick<About, 'name' | 'version' | 'commit'>): string {
  return commit ? `${name} ${version} (commit ${commit})` : `${name} ${version}`;
}

/** The packages of each engine kind, once each. */
export function engineLine({ engines = {} }: About): string {
  const packages = Object.values(engines).flatMap((versions) => Object.entries(versions));
  return [...new Map(packages)].map(([name, version]) => `${name} ${version}`).join(', ');
}
