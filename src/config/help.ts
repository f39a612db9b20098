import { ownFolder, ownFolders, type SystemFolders } from '../core/data-folder.ts';
import type { FlagDefinition, FlagShape, FlagValue } from './flag.ts';
import { deprecatedFlags } from './flags/deprecated.ts';
import { exclusiveGroups, type FlagGroup, type FlagKey, flagGroups, flagKeys, flagName, flagOf } from './flags.ts';
import { rangeText } from './value.ts';

const indent = 2;
const nameColumn = 32;
const minColumns = 60;

/** The text of `--help`, wrapped to the width of the terminal. */
export function helpText(width: number): string {
  const columns = Math.max(width, minColumns);
  const groups = flagGroups
    .filter(({ title }) => title !== 'Internal')
    .map(({ title, keys }) => [`${title}:`, ...keys.flatMap((key) => flagLines(flagOf(key), columns))].join('\n'));
  return `${[usage, ...groups, wrap(closing, columns).join('\n')].join('\n\n')}\n`;
}

const usage = `Usage: parley [model.gguf] [port] [flags]
       parley --config settings.kcpps [flags]
       parley run NAME           download and start a model
       parley list               list local models
       parley show NAME          what a model is and can do
       parley rm NAME            delete a model
       parley search WORDS       find models on the hub
       parley pull SOURCE        download a model
       parley pack add NAME      download an engine
       parley pack build cuda    compile an engine
       parley pack verify        check downloaded engines
       parley doctor             check this installation
       parley licenses           print all licences`;
const closing =
  'Values follow their flag or an equals sign. Deprecated KoboldCpp flags are accepted and reported. ' +
  'See docs/configuration.md for details.';

/** The value after the name: `[LAYERS]` is optional, `FILE …` can be repeated. */
function valueSyntax(definition: FlagDefinition): string {
  const noun = definition.metavar ?? 'VALUE';
  switch (definition.type) {
    case 'switch':
      return '';
    case 'choice':
      return definition.choices.join('|');
    case 'list': {
      const repeated = definition.most === undefined ? `${noun} …` : noun;
      return definition.least === 0 ? `[${repeated}]` : repeated;
    }
    default:
      return 'bare' in definition && definition.bare !== undefined ? `[${noun}]` : noun;
  }
}

/** Default, limits and other facts that are not in the help sentence. */
export function flagFacts(definition: FlagDefinition): string[] {
  return [...documentedFacts(definition), ...(definition.unsupported ? ['not available yet'] : [])];
}

function documentedFacts(definition: FlagDefinition): string[] {
  const limits = limitsText(definition);
  const bare = 'bare' in definition && definition.bare !== undefined ? [`without a value: ${definition.bare}`] : [];
  const initial = definition.defaultText ?? valueText(definition.default);
  return [
    ...(limits ? [limits] : []),
    ...(definition.type === 'list' && definition.choices ? [`values: ${definition.choices.join(', ')}`] : []),
    ...bare,
    ...(initial ? [`default: ${initial}`] : []),
    ...(definition.environment ? [`environment: ${definition.environment.join(', ')}`] : []),
  ];
}

function limitsText(shape: FlagShape): string {
  if (shape.type !== 'integer' && shape.type !== 'number') return '';
  if (shape.only) return `one of ${shape.only.join(', ')}`;
  const range = rangeText(shape);
  // A minimum of -1 or 0 only marks special values, which the help sentence explains.
  return shape.max === undefined && (shape.min ?? 0) <= 0 ? '' : range;
}

function valueText(value: FlagValue): string {
  if (value === false || value === null || value === '') return '';
  return Array.isArray(value) ? value.join(' ') : String(value);
}

function flagLines(definition: FlagDefinition, columns: number): string[] {
  // `--contextsize, -c TOKENS`
  const syntax = `${' '.repeat(indent)}${definition.names.join(', ')} ${valueSyntax(definition)}`.trimEnd();
  const facts = flagFacts(definition);
  const text = facts.length > 0 ? `${definition.help} (${facts.join('; ')})` : definition.help;
  const lines = wrap(text, columns - nameColumn).map((line) => ' '.repeat(nameColumn) + line);
  const [first = ''] = lines;
  const fits = syntax.length < nameColumn - 1;
  if (fits) return [syntax.padEnd(nameColumn) + first.trimStart(), ...lines.slice(1)];
  const [head = '', ...rest] = wrap(syntax.trimStart(), columns - 2 * indent);
  return [' '.repeat(indent) + head, ...rest.map((line) => ' '.repeat(2 * indent) + line), ...lines];
}

/** Breaks at spaces; a word longer than the width gets its own line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

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
