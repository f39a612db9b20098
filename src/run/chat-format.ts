import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type ChosenAdapter, chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { type ChatTemplate, compileTemplate } from '../chat/template.ts';
import type { Settings } from '../config/flags.ts';

/** How chats are written for the loaded model: by its own template, or between the tags of an adapter. */
export interface ChatFormat {
  readonly adapter: ChosenAdapter;
  readonly templateText: string | undefined;
  /** Undefined unless `--jinja` asks for it, or when the template cannot be read. */
  readonly template: () => Promise<ChatTemplate | undefined>;
  readonly templateTools: boolean;
}

export async function loadChatFormat(
  settings: Settings,
  modelTemplate: string | undefined,
  warn: (text: string) => void,
): Promise<ChatFormat> {
  const replaced = settings.jinjatemplate ? await readFile(settings.jinjatemplate, 'utf8') : undefined;
  const templateText = replaced ?? modelTemplate;
  const loaded = await loadAdapter(settings.chatcompletionsadapter, readOptional);
  for (const warning of loaded.warnings) warn(warning);
  let compiled: Promise<ChatTemplate | undefined> | undefined;
  const compile = async (): Promise<ChatTemplate | undefined> => {
    if (!settings.jinja || templateText === undefined) return undefined;
    return compileTemplate(templateText).catch((error: unknown) => {
      warn(`The chat template cannot be used, so the chat adapter is: ${(error as Error).message}`);
      return undefined;
    });
  };
  return {
    adapter: chooseAdapter(loaded, templateText),
    templateText,
    template: () => {
      compiled ??= compile();
      return compiled;
    },
    templateTools: settings.jinja_tools && templateText !== undefined,
  };
}

async function readOptional(path: string): Promise<string | undefined> {
  return existsSync(path) ? readFile(path, 'utf8') : undefined;
}
