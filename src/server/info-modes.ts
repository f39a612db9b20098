import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Settings } from '../config/flags.ts';
import { type EngineVersions, type Product, versionList } from '../core/product.ts';
import { fileExitCode, StartError } from './start-error.ts';

/** `--help`, `--version`, `--analyze`, `--exportconfig` and `--exporttemplate`. */
export async function inform(settings: Settings, product: Product): Promise<void> {
  if (settings.help) await help();
  else if (settings.version) await version(product);
  else if (settings.analyze) await analyze(settings.analyze);
  else if (settings.exportconfig) await exportConfig(settings.exportconfig, '.kcpps', settings);
  else await exportConfig(settings.exporttemplate, '.kcppt', settings);
}

/** The first line is the version alone, for scripts. */
async function version(product: Product): Promise<void> {
  const { engineVersions } = await import('../models/engine-kinds.ts');
  for (const line of versionLines(product, engineVersions())) console.log(line);
}

export function versionLines({ version, commit }: Product, engines: EngineVersions): readonly string[] {
  const installed = Object.entries(engines).filter(([, versions]) => Object.keys(versions).length > 0);
  return [
    version,
    ...(commit ? [`commit: ${commit}`] : []),
    ...installed.map(([kind, versions]) => `${kind}: ${versionList(versions)}`),
  ];
}

async function help(): Promise<void> {
  const { helpText } = await import('../config/help.ts');
  console.log(helpText(process.stdout.columns ?? 100));
}

async function analyze(path: string): Promise<void> {
  const { readGguf } = await import('../gguf/gguf.ts');
  const { describeGguf } = await import('../gguf/describe.ts');
  try {
    console.log(describeGguf(await readGguf(path)));
  } catch (error) {
    throw new StartError(`${path}: ${(error as Error).message}`, fileExitCode(error));
  }
}

async function exportConfig(name: string, ending: '.kcpps' | '.kcppt', settings: Settings): Promise<void> {
  const { isNewerConfig, newerConfig, writeConfigFile } = await import('../config/config-file.ts');
  const path = name.endsWith(ending) ? name : `${name}${ending}`;
  if (existsSync(path) && isNewerConfig(readFileSync(path, 'utf8'))) throw new StartError(newerConfig(path), 2);
  writeFileSync(path, writeConfigFile(settings, ending === '.kcpps' ? 'config' : 'template'));
  console.log(`Written: ${path}`);
}
