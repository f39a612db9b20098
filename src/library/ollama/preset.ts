import { isObject, tryParseJson } from '../../core/json.ts';
import { samplingFields } from '../../core/sampling-fields.ts';

/** The texts that come with the weights of a model of Ollama. */
export interface OllamaTexts {
  readonly template?: string | undefined;
  readonly system?: string | undefined;
  /** JSON. */
  readonly params?: string | undefined;
}

const samplerNames: ReadonlySet<string> = new Set(Object.values(samplingFields).flatMap(({ wire }) => wire));
const [minContext, maxContext] = [256, 524_288];

/** The settings that a model of Ollama comes with, by their keys in config files. Its template is used only where the file of the model has none. */
export function presetOf(texts: OllamaTexts, hasTemplate: boolean): Readonly<Record<string, unknown>> {
  const parsed = tryParseJson(texts.params ?? '');
  const params = isObject(parsed) ? parsed : {};
  const samplers = Object.entries(params).filter(
    ([name, value]) => samplerNames.has(name) && typeof value === 'number',
  );
  const stop = [params.stop ?? []].flat().filter((text) => typeof text === 'string' && text !== '');
  const gendefaults = { ...Object.fromEntries(samplers), ...(stop.length > 0 && { stop }) };
  const { num_ctx: context } = params;
  const adapter = hasTemplate ? undefined : adapterOf(texts.template ?? '');
  return {
    ...(Object.keys(gendefaults).length > 0 && { gendefaults }),
    ...(typeof context === 'number' && {
      contextsize: Math.round(Math.min(Math.max(context, minContext), maxContext)),
    }),
    ...(texts.system?.trim() && { systemprompt: texts.system }),
    ...(adapter && { chatcompletionsadapter: JSON.stringify(adapter) }),
  };
}

const actions = /\{\{-?\s*(?<action>.*?)\s*-?\}\}/gs;
const order = ['if .System', '.System', 'end', 'if .Prompt', '.Prompt', 'end', '.Response'];

/** What the texts before, between and after these actions are; empty where there must be none. */
const adapterTags = [
  '',
  'system_start',
  'system_end',
  '',
  'user_start',
  'user_end',
  'assistant_start',
  'assistant_end',
];

/** A Go template in the usual form (system, prompt and response in turn) as a chat adapter; undefined for others. */
export function adapterOf(template: string): Readonly<Record<string, string>> | undefined {
  const expressions = [...template.matchAll(actions)].map(({ groups }) => groups?.action ?? '');
  // The texts between the actions; a dash at either end of an action removes the white space there.
  const texts = template
    .replace(/\s*\{\{-/g, '{{')
    .replace(/-\}\}\s*/g, '}}')
    .split(actions)
    .filter((_, index) => index % 2 === 0);
  if (JSON.stringify(expressions) !== JSON.stringify(order)) return undefined;
  const tags = adapterTags.map((tag, index) => [tag, texts[index] ?? ''] as const);
  if (tags.some(([tag, text]) => tag === '' && text.trim() !== '')) return undefined;
  return Object.fromEntries(tags.filter(([tag]) => tag !== ''));
}
