import type { Settings } from '../../config/flags.ts';
import type { EngineVersions, Product } from '../../core/product.ts';
import type { TaskServices } from '../../core/task-services.ts';
import { type DialectContext, modalities } from '../dialect.ts';

/** The level of this API that clients test feature by feature; not the version of this program. */
const koboldVersion = '1.122.1';

/** What can be switched on, by the names of the version reply and in its order. Those of the engine kinds come first. */
export const switchNames = [
  'vision',
  'audio',
  'multiplayer',
  'websearch',
  'savedata',
  'router',
  'guidance',
  'jinja',
  'mcp',
  'documents',
  'memories',
] as const;

/** `admin` is 1 without an admin password and 2 with one; what is left out is off. */
type Features = { readonly [Name in (typeof switchNames)[number]]?: boolean } & {
  readonly protected: boolean;
  readonly admin?: 0 | 1 | 2;
};

/** What is the same for all models. */
export interface VersionServices {
  readonly product: Product;
  readonly engineVersions: () => EngineVersions;
  /** What the engines can do, by the names of their kinds. */
  readonly engineFeatures: (services: TaskServices) => Readonly<Record<string, boolean>>;
  readonly serverFeatures: () => Omit<Features, 'guidance' | 'jinja'>;
}

interface VersionContext extends VersionServices, Pick<DialectContext, 'text' | 'taskServices'> {
  readonly settings: Pick<Settings, 'enableguidance' | 'jinja'>;
}

/** `/api/extra/version`. */
export function versionBody(context: VersionContext): object {
  const { settings, engineFeatures, taskServices = {} } = context;
  const { name, version, commit } = context.product;
  const state = context.text.state();
  const own = { guidance: settings.enableguidance, jinja: settings.jinja };
  const on: Features = { ...modalities(state), ...context.serverFeatures(), ...own };
  return {
    result: 'KoboldCpp',
    version: koboldVersion,
    protected: on.protected,
    llm: state.type === 'ready' || state.type === 'loading',
    ...engineFeatures(taskServices),
    ...Object.fromEntries(switchNames.map((name) => [name, on[name] ?? false])),
    admin: on.admin ?? 0,
    parley: { name, version, ...(commit && { commit }), engines: context.engineVersions() },
  };
}
