import { EndlessTemplateError } from '../endless-template.ts';
import { renderAll } from '../lost-turns.ts';
import type { ChatTemplate, RenderedTemplate, TemplateInput } from '../template.ts';

/** The template of a model, ready for conversations of any length. */
export interface PromptTemplate {
  /** Rejects when the template cannot be run with this conversation, or would lose something of it. */
  render(input: TemplateInput, signal?: AbortSignal): Promise<RenderedTemplate>;
}

/** Where a template takes long without keeping others waiting. */
export type RenderElsewhere = (input: TemplateInput, signal?: AbortSignal) => Promise<RenderedTemplate>;

/** As many as any template renders in a moment; a thread takes longer to begin than all of them. */
const mostInline = 300;

/**
 * Renders short conversations at once, and others elsewhere. A template that does not come to an end in time with a short
 * one gets its time elsewhere too, and from then on at once for all that are as long.
 */
export function promptTemplate(inline: ChatTemplate, elsewhere: RenderElsewhere): PromptTemplate {
  let most = mostInline;
  return {
    render: async (input, signal) => {
      const { length } = input.conversation.messages;
      if (length > most) return elsewhere(input, signal);
      try {
        return renderAll(inline, input);
      } catch (error) {
        if (!(error instanceof EndlessTemplateError)) throw error;
        most = Math.min(most, length - 1);
        return elsewhere(input, signal);
      }
    },
  };
}
