import type { FlagDefinition, FlagShape, FlagValue } from './flag.ts';
import { flagGroups, flagOf } from './flags.ts';
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
       parley launch AGENT       start a coding agent
       parley presets            list presets of models
       parley documents list     collections of documents
       parley pack add NAME      download an engine
       parley pack build cuda    compile an engine
       parley pack verify        check downloaded engines
       parley keys add NAME      keys of people and programs
       parley lan                a QR code for a phone
       parley doctor             check this installation
       parley engines            other programs as engines
       parley licenses           print all licences`;
const closing =
  'Values follow their flag or an equals sign. Deprecated KoboldCpp flags are accepted and reported. ' +
  'See docs/configuration.md for details.';

/** The value after the name: `[LAYERS]` is optional, `FILE …` can be repeated. */
export function valueSyntax(definition: FlagDefinition): string {
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

export function documentedFacts(definition: FlagDefinition): string[] {
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
