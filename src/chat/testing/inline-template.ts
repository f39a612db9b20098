import { renderAll } from '../lost-turns.ts';
import type { PromptTemplate } from '../rendering/threads.ts';
import type { ChatTemplate } from '../template.ts';

/** A template without threads, for tests of what it renders. */
export function inlineTemplate(template: ChatTemplate): PromptTemplate {
  return async (input) => renderAll(template, input);
}
