import { renderAll } from '../lost-turns.ts';
import type { PromptTemplate } from '../rendering/threads.ts';
import { type ChatTemplate, compileTemplate } from '../template.ts';

/** A template without threads, for tests of what it renders. */
export function inlineTemplate(template: ChatTemplate): PromptTemplate {
  return async (input) => renderAll(template, input);
}

/** Without a time limit: a busy machine must not make a request use the adapter instead. */
export async function untimedTemplate(source: string): Promise<PromptTemplate> {
  return inlineTemplate(await compileTemplate(source, { clock: () => 0 }));
}
