import { defaultControls, type GenerationControls } from '../../../core/request.ts';
import type { Call, Endpoint, Reply } from '../../../http/call.ts';
import { bindAll } from '../../testing/bind.ts';
import { dialectParts, type Script, scriptedText } from '../../testing/doubles.ts';
import { type LlamacppContext, llamacppEndpoints } from '../routes.ts';
import { SlotWatch } from '../status.ts';

/** Test doubles: the parts of this dialect around a text service that plays a script. */
export function llamacppParts(own: Partial<LlamacppContext> = {}): LlamacppContext {
  const slots = new SlotWatch();
  return {
    ...dialectParts(),
    product: { name: 'Parley', version: '1.2.3' },
    name: 'mini',
    slotsOf: () => slots,
    metrics: { exposition: async () => ({ contentType: 'text/plain', text: 'figures' }) },
    startedAt: 1_700_000_000_123,
    readChat: async (body) => {
      const controls = { ...plainControls, stop: [String(body.messages)] };
      return {
        conversation: { messages: [], media: [], tools: [] },
        continueAssistantTurn: false,
        toolChoice: { type: 'auto' },
        parallelToolCalls: true,
        output: { type: 'text' },
        reasoning: { effort: undefined, separate: true },
        templateVariables: {},
        memory: '',
        controls,
      };
    },
    ...own,
  };
}

export const plainControls: GenerationControls = { ...defaultControls, maxTokens: 16, overflow: 'refuse' };

export function find(parts: LlamacppContext, method: string, path: string): Endpoint {
  const endpoint = bindAll(llamacppEndpoints(parts), parts).find(
    (each) => each.method === method && (each.match === 'prefix' ? path.startsWith(each.path) : each.path === path),
  );
  if (!endpoint) throw new Error(`no ${method} ${path}`);
  return endpoint;
}

/** A failure comes back as the dialect words it, as the server would send it. */
export async function ask(parts: LlamacppContext, call: Call): Promise<Reply> {
  const endpoint = find(parts, call.method, call.path);
  try {
    return await endpoint.handle(call);
  } catch (error) {
    return endpoint.dialect.errorReply(error as never);
  }
}

export function scripted(script: Script, own: Partial<LlamacppContext> = {}) {
  const { text, asked } = scriptedText(script);
  return { parts: llamacppParts({ text, ...own }), asked };
}
