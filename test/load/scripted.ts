import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A question that the fake engine answers with these texts, one for each generation that it takes; works once. */
export function scripted(question: string, ...replies: readonly string[]): string {
  const script = Buffer.from(JSON.stringify({ id: randomUUID(), replies })).toString('base64url');
  return `${question} [replies ${script}]`;
}

const template = `{% for tool in tools or [] %}{{ tool.function.name }}: {"name": ..., "arguments": ...} in <tool_call></tool_call>
{% endfor %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
`;

/** Flags for a chat template whose model writes calls as `callByTemplate` does. The fake engine has none of its own. */
export function toolTemplateFlags(): readonly string[] {
  templatePath ??= writtenTemplate();
  return ['--jinjatemplate', templatePath];
}

let templatePath: string | undefined;

function writtenTemplate(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-scripted-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'tools.jinja');
  writeFileSync(path, template);
  return path;
}

/** What a model writes to call a tool in the words of its template. */
export const callByTemplate = (name: string, args: object): readonly string[] => [
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`,
];

/** What it writes in the two steps of models whose template is not used for tools: a decision and the call. */
export const callByTwoSteps = (name: string, args: object): readonly string[] => [
  JSON.stringify({ reasoning: 'A tool helps.', final_decision: 'yes', tool_name: name }),
  JSON.stringify([{ type: 'function', function: { name, arguments: args } }]),
];

/** What it decides there before an answer in words. */
export const noCallByTwoSteps: readonly string[] = [
  JSON.stringify({ reasoning: 'All is known.', final_decision: 'no', tool_name: 'null' }),
];
