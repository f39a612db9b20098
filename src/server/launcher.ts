import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import { attempt } from '../core/attempt.ts';
import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { availableBytes } from '../core/memory.ts';
import { type Product, reportFacts } from '../core/product.ts';
import { createHttpServer } from '../http/server.ts';
import { hasDisplay } from '../launcher/first-page.ts';
import { allowedFolders } from '../launcher/folders.ts';
import { pageEndpoints, Session } from '../launcher/page.ts';
import { launcherEndpoints, sessionEndpoints } from '../launcher/routes.ts';
import { ServerProcess } from '../launcher/server-process.ts';
import { LauncherService } from '../launcher/service.ts';
import { knownModelFolders } from '../library/model-folders.ts';
import { embeddedModel } from '../models/text-engine.ts';
import type { Terminal } from '../observe/terminal.ts';
import { downloadEndpoints, hubEndpoints } from '../protocols/admin/library.ts';
import { startServer } from './child-server.ts';
import { engineRecipes, installed } from './engines-command.ts';
import { guardFaults } from './guard-faults.ts';
import { modelLibrary } from './model-library.ts';
import { openBrowser } from './open-browser.ts';
import { ownGpus, recommendedHere } from './own-machine.ts';
import type { ShutdownSignals } from './shutdown-signals.ts';

interface LauncherDeps {
  readonly product: Product;
  readonly settings: Settings;
  readonly notes: readonly string[];
  readonly terminal: Terminal;
  readonly signals: ShutdownSignals;
  readonly exit: (code: number) => void;
}

/** The launcher's web page, on this machine only. It starts the server as a child process. */
export async function launcher({ product, settings, notes, terminal, signals, exit }: LauncherDeps): Promise<void> {
  const serverProcess = new ServerProcess(
    (args) => startServer(args),
    (line) => terminal.line(line),
  );
  const session = new Session(() => randomBytes(24).toString('base64url'));
  const home = homedir();
  const configFolder = ownFolder('config');
  // Folders that do not exist are not offered.
  attempt(() => mkdirSync(configFolder, { recursive: true, mode: 0o700 }), undefined);
  let base = '';
  const address = (): string => `${base}/?token=${session.token}`;
  const end = (): void => {
    // The answer is sent first.
    setTimeout(() => void server.close(), 200);
    serverProcess.stop();
    if (!serverProcess.busy) exitSoon();
    else serverProcess.watch(({ type }) => type === 'state' && !serverProcess.busy && exitSoon());
  };
  const exitSoon = (): void => void setTimeout(() => exit(0), 300);
  const service = new LauncherService({
    product,
    settings,
    notes,
    serverProcess,
    folders: allowedFolders(home, process.cwd(), process.platform, [
      fileURLToPath(new URL('../../models', import.meta.url)),
      configFolder,
    ]),
    home,
    modelFolders: knownModelFolders(thisSystem()),
    embeddedModel,
    exists: existsSync,
    environment: process.env,
    availableBytes,
    gpus: ownGpus,
    recipes: () => engineRecipes.map((recipe) => ({ ...recipe, installed: installed(recipe) !== undefined })),
    quit: end,
  });
  // The session guards these endpoints.
  const access = { enabled: true, password: undefined };
  const models = modelLibrary(settings, undefined, async () => ({ mainBytes: 0, gpus: [] }));
  const library = async () => models;
  const showAddress = (): void => {
    session.renew();
    terminal.line(`The launcher is at ${address()}`);
  };
  const server = createHttpServer({
    endpoints: [
      ...pageEndpoints(session, showAddress),
      ...launcherEndpoints(session, service),
      ...sessionEndpoints(session, [
        ...hubEndpoints({ access, library, recommended: recommendedHere }),
        ...downloadEndpoints({ access, library }),
      ]),
    ],
    port: 0,
    onError: (error) => terminal.line(`The launcher failed: ${error instanceof Error ? error.stack : String(error)}`),
  });
  const { port } = await server.listen();
  guardFaults({ facts: reportFacts(product), log: (line) => terminal.line(line) });
  base = `http://localhost:${port}`;
  signals.handle(end);
  terminal.line(`The launcher is at ${address()}`);
  terminal.line('The address works once, on this machine. --skiplauncher starts the server without it.');
  if (hasDisplay(process.env, process.platform)) {
    openBrowser(address(), () => terminal.line('No browser could be started; open the address above yourself.'));
  }
}
