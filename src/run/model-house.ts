import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App, AppParts } from '../app.ts';
import type { Settings } from '../config/flags.ts';
import { type Running, reloadSettings } from '../config/reload.ts';
import { AppError } from '../core/errors.ts';
import { readModelFile } from '../engines/llama/model-file.ts';
import { systemTimer } from '../http/timers.ts';
import type { Terminal } from '../observe/terminal.ts';
import type { Registry } from '../registry/registry.ts';
import { adminFiles, adminTarget, initialModel, listedFile, optionNames, unloadModel } from './admin-options.ts';
import type { Arrival } from './arriving.ts';
import { modelPath } from './engine.ts';
import { House, type Offer } from './house.ts';
import type { ModelKinds } from './kinds.ts';
import { hasText, type PreparedModel, prepareModel } from './prepared-model.ts';
import { roomParts } from './room-parts.ts';
import type { Room } from './rooms.ts';

export interface ModelHouseParts {
  readonly initial: Running;
  readonly first: PreparedModel;
  readonly registry: Registry<ModelKinds>;
  readonly terminal: Terminal;
  /** Models elsewhere, by their names. */
  readonly elsewhere?: (() => readonly Offer[]) | undefined;
  /** Makes the app of this house; nothing is asked of its door before it is open. */
  readonly build: (door: Door) => App;
}

/** Where calls come in, and what is told of those who live there. */
export type Door = Required<Pick<AppParts, 'choose' | 'models' | 'presentSettings'>>;

/** A server whose model can be swapped (`--admin`), or that has several by name (`--routermode`, `--remote`). */
export function createHouse({ initial, first, registry, terminal, elsewhere, build }: ModelHouseParts): App {
  const { settings } = initial;
  const folder = settings.admindir || '.';
  const say = (line: string) => terminal.line(line);

  async function prepared(option: string, base: string | undefined): Promise<PreparedModel> {
    const target = await adminTarget(folder, option);
    if (!target) throw new AppError('model-not-found', { model: option });
    if (target.type === 'initial') return first;
    const loaded = reloadSettings(target, base ?? (settings.baseconfig || undefined), initial, {
      readFile: (path) => readFileSync(path, 'utf8'),
      environment: process.env,
      exists: existsSync,
    });
    if (loaded.type === 'refused') {
      const reason = loaded.problems.map(({ sentence }) => sentence).join(' ');
      throw new AppError('model-load-failed', { model: option, reason });
    }
    const name = optionNames(await adminFiles(folder)).get(option) ?? option;
    return prepareOption(name, loaded, terminal);
  }

  const byName = settings.routermode || elsewhere !== undefined;

  async function offers(): Promise<readonly Offer[]> {
    return [...(settings.routermode ? await localOffers() : []), ...(elsewhere?.() ?? [])];
  }

  async function localOffers(): Promise<readonly Offer[]> {
    const files = await adminFiles(folder);
    const names = optionNames(files);
    return files.map((file) => ({
      names: [names.get(file) ?? file, file],
      path: /\.gguf$/i.test(file) ? join(folder, file) : undefined,
      prepare: () => prepared(file, undefined),
    }));
  }

  async function reload(option: string, base: string | undefined): Promise<boolean> {
    const path = base === undefined ? undefined : await listedFile(folder, base);
    if (base !== undefined && path === undefined) return false;
    try {
      const model = await prepared(option, path);
      say(`Switching to ${option} as soon as all that was asked of ${house.present.name} is answered.`);
      // The answer goes out first.
      setImmediate(() => void swap(option, model));
      return true;
    } catch (error) {
      say(`${option} is not switched to: ${(error as Error).message}`);
      return false;
    }
  }

  async function swap(option: string, model: PreparedModel): Promise<void> {
    try {
      await house.swapTo(model);
      say(hasText(house.present) ? `Serving ${house.present.name} now.` : 'Serving no model now.');
    } catch (error) {
      say(`${option} is not switched to: ${(error as Error).message}`);
    }
  }

  const options = async () => [...(await adminFiles(folder)), initialModel, unloadModel];
  const openRoom = (model: PreparedModel, arrival?: Arrival): Room => app.open(roomParts(model, registry, arrival));
  const patience = { seconds: settings.reqtimeout, startTimer: systemTimer };
  const app = build({
    choose: (call, endpoint) => house.choose(call, endpoint),
    presentSettings: () => house.present.settings,
    models: { byName, swap: { options, reload }, list: () => house.list() },
  });
  const house: House = new House(
    { model: first, room: { ...app, endpoints: app.ownEndpoints } },
    { registry, openRoom, say, patience, ...(byName ? { offers } : {}) },
  );
  return app;
}

async function prepareOption(
  name: string,
  { settings, given }: { readonly settings: Settings; readonly given: Running['given'] },
  terminal: Terminal,
): Promise<PreparedModel> {
  const path = modelPath(settings);
  if (path === undefined) return prepareModel({ name, settings, given, file: undefined }, terminal);
  try {
    return await prepareModel({ name, settings, given, file: await readModelFile(path) }, terminal);
  } catch (error) {
    throw new AppError('model-load-failed', { model: name, reason: (error as Error).message }, { cause: error });
  }
}
