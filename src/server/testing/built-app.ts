import { chooseAdapter, loadAdapter } from '../../chat/adapters/load.ts';
import { noTemplate } from '../../chat/prompt.ts';
import { defaultSettings, type Settings } from '../../config/flags.ts';
import { fixedTextSource } from '../../core/text-service.ts';
import { noTextEngine } from '../../engines/none.ts';
import { type App, createApp } from '../app.ts';

/** A whole server without any model. */
export async function builtApp(own: Partial<Settings> = {}): Promise<App> {
  const adapter = chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
  return createApp({
    settings: { ...defaultSettings, port: 0, host: '127.0.0.1', ...own },
    source: fixedTextSource(noTextEngine(4096)),
    format: { adapter, templateText: undefined, template: async () => undefined, templateUse: noTemplate },
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
}
