import type { FlagDefinition } from '../../src/config/flag.ts';
import { deprecatedFlags } from '../../src/config/flags/deprecated.ts';
import {
  exclusiveGroups,
  type FlagGroup,
  type FlagKey,
  flagGroups,
  flagKeys,
  flagName,
  flagOf,
} from '../../src/config/flags.ts';
import { documentedFacts, valueSyntax } from '../../src/config/help.ts';
import { ownFolder, ownFolders, type SystemFolders } from '../../src/core/data-folder.ts';

/** The text of docs/configuration.md, generated from the flag table. */
export function configurationDocument(): string {
  const sections = [...flagGroups.flatMap(groupSection), exclusiveSection(), deprecatedSection(), foldersSection()];
  return `${[introduction(), ...sections, unavailableSection()].join('\n\n')}\n`;
}

const introduction = (): string => `# Configuration

This page is generated from the flag table by \`npm run docs\`.

Nearly every setting is a command-line flag and a key in a config file. Values are taken from the command line, the
environment, the config file and the defaults, in this order: the first that sets a value wins.

## Command line

- \`parley model.gguf 5001 --contextsize 8192\`: the positional arguments are the model and the port.
- A value follows its flag or an equals sign: \`--port 5001\`, \`--port=5001\`. A value that begins with a dash needs the
  equals sign, unless it is a negative number.
- A list ends at the next flag: \`--lora a.gguf b.gguf --quiet\`. After \`--\` nothing is a flag.
- A value in square brackets is optional; the table gives the value of the flag without one.
- Names cannot be abbreviated. The last occurrence of a flag wins.
- [Flags that have no effect yet](#flags-that-have-no-effect-yet) are accepted and reported, so that existing scripts start.
- \`parley doctor\` checks engines, packs, graphics cards, models, folders and the port, says what to do about each problem, and
  exits with 1 if Parley cannot serve. \`parley licenses\` prints the licences of everything that comes with Parley. With
  \`--json\` both print JSON.

The program exits with 1 if flags are wrong or conflict, and with 2 if a file is missing.

## Config files

\`--exportconfig file.kcpps\` writes the settings; \`--config file.kcpps\` reads them. The format is that of KoboldCpp: a JSON
object whose keys are the flag names without leading dashes and with underscores for dashes inside. Deprecated KoboldCpp keys
are accepted.

- A missing key and \`null\` mean the default. Unknown keys are reported and ignored.
- \`model_param\` is the model; \`model\` too, as a text or a list. \`port_param\` overrides \`port\` unless it is 5001.
- \`gendefaults\` and \`jinja_kwargs\` are objects, or texts that contain one. \`chatcompletionsadapter\` and
  \`preloadstory\` may contain the object itself.
- Only on the command line: ${names(flagKeys.filter((key) => flagOf(key).saved === false))}.
- \`onready\` is ignored in a file unless \`--allow-config-onready\` is on the command line.
- A template (\`--exporttemplate file.kcppt\`) omits passwords and machine-specific settings: GPU choice, layers, threads,
  memory modes.
- Config files contain passwords in plain text; templates contain none.
- A file that is named without a folder and is not in the working folder is looked for in the config folder
  ([Folders](#folders)).
- With \`base\`, the name of a model, a file of \`--admindir\` is a preset of that model: a name of its own for other generation
  settings ([models.md](models.md#presets)).
- \`file_version\` is the version of the format; a file of a newer one is refused.`;

/** The section of a group, if it has a flag that works. */
function groupSection({ title, keys }: FlagGroup): string[] {
  const flags = keys.map(flagOf).filter(({ unsupported }) => !unsupported);
  return flags.length > 0 ? [`## ${title}\n\n${flagTable(flags)}`] : [];
}

function unavailableSection(): string {
  const flags = flagKeys.map(flagOf).filter(({ unsupported }) => unsupported);
  return `## Flags that have no effect yet\n\n${flagTable(flags)}`;
}

function flagTable(flags: readonly FlagDefinition[]): string {
  return ['| Flag | Value | Meaning |', '|---|---|---|', ...flags.map(flagRow)].join('\n');
}

function flagRow(definition: FlagDefinition): string {
  const flagNames = definition.names.map(code).join(', ');
  const syntax = valueSyntax(definition);
  const facts = documentedFacts(definition).map(escapeCell);
  const meaning = [escapeCell(definition.help), facts.length > 0 ? `(${facts.join('; ')})` : ''].filter(Boolean);
  return `| ${flagNames} | ${syntax ? code(syntax) : ''} | ${meaning.join(' ')} |`;
}

function exclusiveSection(): string {
  const lines = exclusiveGroups.map((keys) => `- ${names(keys)}`);
  return ['## Mutually exclusive flags', '', ...lines].join('\n');
}

function deprecatedSection(): string {
  const rows = Object.values(deprecatedFlags).map(
    ({ names, translate, instead }) =>
      `| ${names.map(code).join(', ')} | ${translate ? 'translated' : 'no effect'} | ${escapeCell(instead)} |`,
  );
  return ['## Deprecated flags', '', '| Flag | Effect | Instead |', '|---|---|---|', ...rows].join('\n');
}

const documentedSystems = {
  Linux: { home: '~', platform: 'linux', environment: {} },
  macOS: { home: '~', platform: 'darwin', environment: {} },
  Windows: {
    home: '%USERPROFILE%',
    platform: 'win32',
    environment: { APPDATA: '%APPDATA%', LOCALAPPDATA: '%LOCALAPPDATA%' },
  },
  'With `PARLEY_HOME`': { home: '~', platform: 'linux', environment: { PARLEY_HOME: '$PARLEY_HOME' } },
} satisfies Record<string, SystemFolders>;

function foldersSection(): string {
  const keys = Object.keys(ownFolders) as (keyof typeof ownFolders)[];
  const rows = keys.map((key) => {
    const paths = Object.values(documentedSystems).map((system) => code(ownFolder(key, system)));
    return `| ${ownFolders[key].content} | ${paths.join(' | ')} |`;
  });
  return `## Folders

Folders that Parley chooses by itself. Files that a flag names (\`--savedatafile\`, \`--diskcache\`, \`--exportconfig\`) are
where the flag says.

| Content | ${Object.keys(documentedSystems).join(' | ')} |
|---|---|---|---|---|
${rows.join('\n')}

- \`PARLEY_HOME=FOLDER\` moves all of them, and \`PARLEY_PACKS=FOLDER\` the engines alone. They are not moved by themselves:
  move the files before the next start.
- On Linux, \`XDG_DATA_HOME\`, \`XDG_CONFIG_HOME\` and \`XDG_CACHE_HOME\` replace \`~/.local/share\`, \`~/.config\` and \`~/.cache\`.
- Temporary files, such as uploads, are in the folder of the system for them (\`TMPDIR\`, on Windows \`TEMP\`) and are removed
  after use.`;
}

const names = (keys: readonly FlagKey[]): string => keys.map((key) => code(flagName(key))).join(', ');
const code = (text: string): string => `\`${escapeCell(text)}\``;
const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*', '\\*');
