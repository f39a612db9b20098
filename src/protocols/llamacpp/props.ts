import { basename } from 'node:path';
import { hiddenModelName } from '../../core/model-names.ts';
import type { TextState } from '../../core/text-service.ts';
import { readControls } from '../controls/decode.ts';
import { type DialectParts, dialectControls } from '../dialect.ts';
import { mediaMarker } from './prompts.ts';
import { settingsBody } from './settings.ts';
import type { SlotWatch } from './slot-watch.ts';

export interface PropsParts extends DialectParts {
  readonly slots: SlotWatch;
  readonly product: { readonly name: string; readonly version: string };
  /** What the loaded model can take, where somebody else than the model says it. */
  readonly modalities?: () => { readonly vision: boolean; readonly audio: boolean };
  /** The template that chats are written with, where it is not that of the model. */
  readonly chatTemplate?: string | undefined;
  readonly router?: boolean;
}

/** What the server is, in one object. The names at the end are those that other servers of this kind put there too. */
/** Without the key the model has no name and no file. */
export function propsBody(parts: PropsParts, authorized: boolean): object {
  const state = parts.text.state();
  const model = state.type === 'ready' ? state.model : undefined;
  const template = parts.chatTemplate ?? model?.chatTemplate;
  const contextSize = parts.text.contextSize();
  return {
    default_generation_settings: {
      params: settingsBody(dialectControls(readControls(parts.applyDefaults({})), parts)),
      n_ctx: contextSize,
    },
    total_slots: parts.slots.count,
    model_alias: authorized ? parts.modelName() : hiddenModelName,
    // The folder is nobody's business.
    model_path: model && authorized ? basename(model.path) : '',
    model_ftype: fileType(state),
    modalities: { ...(parts.modalities?.() ?? modelModalities(state)), video: false },
    media_marker: mediaMarker,
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    ui: false,
    ui_settings: {},
    chat_template: template ?? null,
    chat_template_caps: templateCapabilities(template ?? ''),
    bos_token: model?.specialTokens.bos ?? '',
    eos_token: model?.specialTokens.eos ?? '',
    build_info: `${parts.product.name} ${parts.product.version}`,
    cors_proxy_enabled: false,
    is_sleeping: false,
    ...(parts.router ? { role: 'router' } : {}),
    id: 0,
    id_task: -1,
    n_ctx: contextSize,
  };
}

function modelModalities(state: TextState): { readonly vision: boolean; readonly audio: boolean } {
  if (state.type !== 'ready') return { vision: false, audio: false };
  const { image, audio } = state.model.inputs;
  return { vision: image, audio };
}

/** The engine describes a model as architecture, size and kind of numbers. */
function fileType(state: TextState): string {
  return state.type === 'ready' ? state.model.description.split(' ').slice(2).join(' ') : '';
}

/** Read from the words of the template: what it speaks of it can do. */
const capabilityWords: Readonly<Record<string, RegExp>> = {
  supports_tools: /\btools\b/,
  supports_tool_calls: /\btool_calls\b/,
  supports_parallel_tool_calls: /\bfor\b[^%]*\btool_calls\b/,
  supports_system_role: /['"]system['"]|\brole\s*\+|\brole\s*~|\brole'\]\s*\+|\brole"\]\s*\+/,
  supports_preserve_reasoning: /\breasoning_content\b/,
  supports_typed_content: /\bis\s+(not\s+)?(string|iterable|sequence)\b|\['text'\]|\["text"\]/,
};

function templateCapabilities(template: string): object {
  const found = Object.entries(capabilityWords).map(([name, words]) => [name, words.test(template)]);
  return { supports_string_content: template !== '', ...Object.fromEntries(found) };
}
