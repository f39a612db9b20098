import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

// A package that comes in parts (one for each system) is only as portable as the parts that the lock file names: npm
// installs nothing else. A version whose parts are not all published is refused here, by name.

type Locked = {
  version?: string;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
};
type Packages = Record<string, Locked>;

const systems = [
  { os: 'linux', cpu: 'x64' },
  { os: 'linux', cpu: 'arm64' },
  { os: 'darwin', cpu: 'arm64' },
  { os: 'darwin', cpu: 'x64' },
  { os: 'win32', cpu: 'x64' },
];

const packages = (JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Packages }).packages;

describe('the lock file', () => {
  it('contains the platform packages for Linux, macOS and Windows', () => {
    expect(missingParts(packages)).toEqual([]);
  });

  it('reports package and system if a platform package is missing', () => {
    const { 'node_modules/@rolldown/binding-linux-arm64-gnu': _, ...rest } = packages;
    expect(missingParts(rest)).toEqual(['rolldown 1.2.15 has no part for linux-arm64']);
  });

  it('contains no download URLs', () => {
    expect(JSON.stringify(packages)).not.toMatch(/"resolved":"https?:/);
  });
});

/** For each package with parts: the systems for which no part is locked. Parts for musl alone do not serve glibc systems. */
function missingParts(locked: Packages): string[] {
  return Object.entries(locked).flatMap(([path, entry]) => {
    const optional = Object.keys(entry.optionalDependencies ?? {});
    const packages = optional.flatMap((name) => locked[`node_modules/${name}`] ?? []).filter((part) => part.os);
    // fsevents and its like serve one system only and have no parts for others: a package with parts names several.
    if (optional.length < 2) return [];
    const name = path.replace(/^.*node_modules\//, '') || 'parley';
    return systems
      .filter(({ os, cpu }) => !packages.some((part) => serves(part, os, cpu)))
      .map(({ os, cpu }) => `${name} ${entry.version} has no part for ${os}-${cpu}`);
  });
}

function serves(part: Locked, os: string, cpu: string): boolean {
  const glibc = part.libc === undefined || part.libc.includes('glibc');
  return part.os?.includes(os) === true && (part.cpu === undefined || part.cpu.includes(cpu)) && glibc;
}
