import type { FlagDefinition } from './flag.ts';
import { deprecatedFlags } from './flags/deprecated.ts';
import { exclusiveGroups, type FlagGroup, flagGroups, flagKeys, flagOf } from './flags.ts';
import { flagFacts, valueSyntax } from './help.ts';

/** docs/configuration.md, written from the flag table. */
export function configurationDocument(): string {
  return `${[introduction(), ...flagGroups.map(groupSection), exclusiveSection(), deprecatedSection()].join('\n\n')}\n`;
}

const introduction = (): string => `# Configuration

This page is generated from the flag table; \`npm run docs\` writes it anew.

Nearly every setting is a flag on the command line and a key in a config file. A value is taken from the first of these
that gives it: the command line, the environment, the config file, the default.

## Command line

- \`parley model.gguf 5001 --contextsize 8192\`: what stands without a flag is the model, then the port.
- A value follows its flag or an equals sign: \`--port 5001\`, \`--port=5001\`. A value that begins with a dash needs the
  equals sign, unless it is a negative number.
- A list ends at the next flag: \`--lora a.gguf b.gguf --quiet\`. After \`--\` nothing is a flag.
- A value in square brackets may be left out; the table says what the flag means alone.
- Names cannot be shortened. A flag that is given twice counts the last time.
- Flags marked *not available yet* are accepted and reported, so that existing scripts start.

The program ends with 1 when flags are wrong or do not go together, and with 2 when a file is missing.

## Config files

\`--exportconfig file.kcpps\` writes the settings; \`--config file.kcpps\` reads them. The format is that of KoboldCpp: a JSON
object whose keys are the flag names, with underscores for dashes inside them. Older keys of KoboldCpp are understood.

- A missing key and \`null\` keep the default. Unknown keys are reported and otherwise ignored.
- \`model_param\` names the model; \`model\` does too, as a text or a list. \`port_param\` beats \`port\` when it is not 5001.
- \`gendefaults\` and \`jinja_kwargs\` are objects, or texts that hold one. \`chatcompletionsadapter\` and \`preloadstory\` may
  hold the object itself.
- Only on the command line: ${commandLineOnly()}.
- \`onready\` is ignored in a file unless \`--allow-config-onready\` is on the command line.
- A template (\`--exporttemplate file.kcppt\`) leaves out passwords and whatever belongs to one machine: GPU choice, layers,
  threads, memory modes.
- A config file holds passwords in the clear; a template holds none.`;

function commandLineOnly(): string {
  const keys = flagKeys.filter((key) => flagOf(key).saved === false);
  return keys.map((key) => code(flagOf(key).names[0])).join(', ');
}

function groupSection({ title, keys }: FlagGroup): string {
  const rows = keys.map((key) => flagRow(flagOf(key)));
  return [`## ${title}`, '', '| Flag | Value | Meaning |', '|---|---|---|', ...rows].join('\n');
}

function flagRow(definition: FlagDefinition): string {
  const names = definition.names.map(code).join(', ');
  const syntax = valueSyntax(definition);
  const facts = flagFacts(definition).map((fact) => (fact === 'not available yet' ? `*${fact}*` : escapeCell(fact)));
  const meaning = [escapeCell(definition.help), facts.length > 0 ? `(${facts.join('; ')})` : ''].filter(Boolean);
  return `| ${names} | ${syntax ? code(syntax) : ''} | ${meaning.join(' ')} |`;
}

function exclusiveSection(): string {
  const lines = exclusiveGroups.map((keys) => `- ${keys.map((key) => code(flagOf(key).names[0])).join(', ')}`);
  return ['## Flags that exclude each other', '', ...lines].join('\n');
}

function deprecatedSection(): string {
  const rows = Object.values(deprecatedFlags).map(
    ({ names, translate, instead }) =>
      `| ${names.map(code).join(', ')} | ${translate ? 'translated' : 'no effect'} | ${escapeCell(instead)} |`,
  );
  return ['## Old flags', '', '| Flag | What happens | Today |', '|---|---|---|', ...rows].join('\n');
}

const code = (text: string): string => `\`${escapeCell(text)}\``;
const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('*', '\\*');
