import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ChosenAdapter, chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate, type TemplateUse } from '../chat/prompt.ts';
import { type PromptTemplate, promptTemplate, startWorkerThread, threadRenderer } from '../chat/rendering/threads.ts';
import { compileTemplate } from '../chat/template.ts';
import { toolFormatOf } from '../chat/tools/formats.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { systemTimer } from '../core/timers.ts';

/** How chats are written for the loaded model: by its own template, or between the tags of an adapter. */
export interface ChatFormat {
  readonly adapter: ChosenAdapter;
  readonly templateText: string | undefined;
  /** Undefined if it is not used or cannot be read. */
  readonly template: () => Promise<PromptTemplate | undefined>;
  readonly templateUse: TemplateUse;
}

export async function loadChatFormat(
  settings: Settings,
  modelTemplate: string | undefined,
  warn: (text: string) => void,
): Promise<ChatFormat> {
  const templateText = settings.jinjatemplate ? await chosenTemplate(settings.jinjatemplate) : modelTemplate;
  const loaded = await loadAdapter(settings.chatcompletionsadapter, async (path) =>
    existsSync(path) ? readFile(path, 'utf8') : undefined,
  );
  for (const warning of loaded.warnings) warn(warning);
  // Another adapter than the default is a choice that also holds for chats with tools.
  const guessed = loaded.source === defaultSettings.chatcompletionsadapter;
  const listedTools = guessed && toolFormatOf(templateText).name !== 'generic';
  const templateUse =
    templateText === undefined ? noTemplate : { chats: settings.jinja, tools: settings.jinja_tools, listedTools };
  let compiled: Promise<PromptTemplate | undefined> | undefined;
  const compile = async (): Promise<PromptTemplate | undefined> => {
    if (templateText === undefined || !(templateUse.chats || templateUse.listedTools)) return undefined;
    try {
      const inline = await compileTemplate(templateText);
      const start = () => startWorkerThread(new URL('../chat/rendering/main.js', import.meta.url));
      return promptTemplate(inline, threadRenderer(templateText, { start, startTimer: systemTimer }));
    } catch (error) {
      if (templateUse.chats)
        warn(`The chat template cannot be used, so the chat adapter is: ${(error as Error).message}`);
      return undefined;
    }
  };
  return {
    adapter: chooseAdapter(loaded, templateText),
    templateText,
    template: () => {
      compiled ??= compile();
      return compiled;
    },
    templateUse,
  };
}

/** A template set by a flag must be valid: an error ends the start, not every chat. */
async function chosenTemplate(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    throw new Error(`--jinjatemplate: ${path} cannot be read: ${error.message}.`, { cause: error });
  });
  // Loaded on first use, as everything about templates is.
  const { templateFault } = await import('../chat/template-fault.ts');
  const fault = templateFault(text);
  if (!fault) return text;
  const { line, column, near, reason } = fault;
  throw new Error(`--jinjatemplate: ${path} is no template: line ${line}, column ${column}, at ${near}: ${reason}.`);
}
