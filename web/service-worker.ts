import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/** What is read of the files of a build. */
export interface BuiltFile {
  readonly type: 'asset' | 'chunk';
  readonly fileName: string;
  readonly isEntry?: boolean;
  readonly name?: string | undefined;
  readonly code?: string;
  readonly facadeModuleId?: string | null;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly viteMetadata?: { readonly importedCss: ReadonlySet<string> } | undefined;
}

export interface KeptFiles {
  /** File name of the entry script, which changes with all that it imports. */
  readonly entry: string;
  /** Kept ahead: what the views of the start page need. */
  readonly shell: readonly string[];
  /** Kept once they were used. */
  readonly files: readonly string[];
}

/** Larger scripts are libraries for special cases, such as diagrams. */
const maxAheadBytes = 128 * 1024;
/** Other alphabets have fonts of their own, which browsers load when they need them. */
const commonFonts = /^assets\/(inter|literata)-latin-wght/;
/** Of these one is used, which is loaded with the page. */
const oneOfMany = /\/languages\//;
const publicShell = ['./', 'theme.js', 'icon.svg', 'icon-192.png', 'manifest.webmanifest'];

/** Which files of a build its service worker keeps. */
export function keptFiles(built: readonly BuiltFile[]): KeptFiles {
  const byName = new Map(built.map((file) => [file.fileName, file]));
  const entry = built.find(({ type, isEntry, name }) => type === 'chunk' && isEntry && name === 'index');
  if (!entry) throw new Error('The build has no entry of the name `index`.');
  const ahead = new Set<string>();
  const visit = (fileName: string): void => {
    const file = byName.get(fileName);
    if (!file || ahead.has(fileName)) return;
    ahead.add(fileName);
    for (const css of file.viteMetadata?.importedCss ?? []) ahead.add(css);
    for (const other of file.imports ?? []) visit(other);
    for (const other of file.dynamicImports ?? []) if (isCommon(byName.get(other))) visit(other);
  };
  visit(entry.fileName);
  const assets = built.map(({ fileName }) => fileName).filter((fileName) => fileName.startsWith('assets/'));
  const isAhead = (fileName: string): boolean => ahead.has(fileName) || commonFonts.test(fileName);
  return {
    entry: entry.fileName.replace('assets/', ''),
    shell: [...publicShell, ...assets.filter(isAhead).sort()],
    files: assets.filter((fileName) => !isAhead(fileName)).sort(),
  };
}

function isCommon(file: BuiltFile | undefined): boolean {
  return file !== undefined && (file.code ?? '').length <= maxAheadBytes && !oneOfMany.test(file.facadeModuleId ?? '');
}

/**
 * Tells the service worker which files belong to this build. Its own bytes change with any of them, also with those whose names
 * stay, so that browsers notice every new build.
 */
export function versionedServiceWorker(publicFolder: string): Plugin {
  return {
    name: 'versioned-service-worker',
    apply: 'build',
    writeBundle({ dir = '' }, bundle) {
      const hash = createHash('sha256');
      const pages = Object.keys(bundle).filter((name) => name.endsWith('.html'));
      for (const path of [
        ...pages.sort().map((name) => join(dir, name)),
        ...readdirSync(publicFolder)
          .sort()
          .map((name) => join(publicFolder, name)),
      ])
        hash.update(readFileSync(path));
      const build = { ...keptFiles(Object.values(bundle)), hash: hash.digest('hex').slice(0, 16) };
      const worker = readFileSync(join(publicFolder, 'offline.js'), 'utf8');
      writeFileSync(join(dir, 'offline.js'), `self.build = ${JSON.stringify(build)};\n${worker}`);
    },
  };
}
