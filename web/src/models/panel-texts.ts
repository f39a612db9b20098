import { byteSize, number, plural, time, translatable } from '../languages/index.ts';
import { type LibraryEntry, type ModelStatus, parametersText } from './status.ts';

export const texts = translatable('modelPanel', {
  kinds: {
    text: 'Text',
    image: 'Image',
    transcription: 'Transcription',
    speech: 'Speech',
    embedding: 'Embedding',
  } as Readonly<Record<string, string>>,
  facts: {
    parameters: (count: string) => `${count} parameters`,
    context: (tokens: number) => `context ${number(tokens)}`,
    trained: (tokens: number) => `trained for ${number(tokens)} tokens`,
    memory: (bytes: number) => `${byteSize(bytes)} in memory`,
    needs: (bytes: number) => `needs ${byteSize(bytes)}`,
    file: (bytes: number) => byteSize(bytes),
    pinned: 'pinned',
    idle: (time: string) => `unloaded at ${time} unless it is used`,
    busy: (requests: number) => plural(requests, { one: '# request running', other: '# requests running' }),
  },
  panel: {
    inspector: 'Inspector: what apps sent to this server',
    conversations: 'Conversations: where the time of agents and apps goes',
    title: 'Models',
    running: 'On this server',
    free: (bytes: number) => `${byteSize(bytes)} of memory free`,
    none: 'No models are available. Start the server with --model FILE.',
    output: 'Output of its program',
    outputLabel: (name: string) => `Output of ${name}`,
    noOutput: 'No output.',
    serverLog: 'Log of the server',
    unknown: 'This server does not report its models.',
    locked: 'Enter the password to see the models.',
    enterPassword: 'Enter password',
    presetOf: (base: string) => `Preset of ${base}`,
    use: 'Use',
    inUse: 'In use',
    useLabel: (name: string) => `Use ${name}`,
    load: 'Load',
    loadLabel: (name: string) => `Load ${name}`,
    unload: 'Unload',
    unloadLabel: (name: string) => `Unload ${name}`,
    switching: (name: string) => `Switching to ${name} …`,
    switched: (name: string) => `${name} is loaded.`,
    switchFailed: (name: string, reason: string) => `Cannot load ${name}: ${reason}`,
    refused: (name: string) => `The server rejected ${name}.`,
    lastFailure: (name: string, reason: string) => `The last switch failed. ${name}: ${reason}`,
  },
  library: {
    title: 'Models on this machine',
    search: 'Search models',
    empty: 'No models found on this machine. Download one here.',
    noMatch: (search: string) => `No models match “${search}”.`,
    config: 'config',
    unreadable: 'not a readable model',
    folder: 'models folder',
    deleteLabel: (name: string) => `Delete ${name}`,
    confirmDelete: (size: string) => `Delete and free ${size}`,
    keep: 'Keep',
    deleted: (name: string) => `Deleted ${name}.`,
    load: 'Switch',
    loadLabel: (name: string) => `Switch to ${name}`,
    initial: 'Back to the model from the start',
    unload: 'Run without a text model',
    adminOff: {
      network: 'Other machines can connect to this server. To switch and download models here, start it with --admin.',
      password: 'This server has a password. To switch and download models here, start it with --admin.',
      keys: 'This server has keys. To switch and download models here, start it with --admin.',
      flag: 'This server was started with --noowner. To switch and download models here, start it with --admin.',
      page: 'Models can be switched and downloaded in a page that is opened on the machine of the server (http://localhost), or with --admin.',
      admin: 'To switch and download models here, start the server with --admin.',
    },
    adminLocked: 'Switching and downloading models needs the password of --adminpassword.',
    enterAdmin: 'Enter admin password',
  },
  presets: {
    title: 'Presets',
    hint: 'A preset is a model with a name of its own for other settings: apps choose it by name, and it needs no more memory. What a request or the settings of this page set wins over it.',
    none: 'There are none yet.',
    of: (base: string) => `Preset of ${base}`,
    create: (model: string) => `Save the present settings for ${model}`,
    edit: (name: string) => `Change ${name}`,
    editLabel: (name: string) => `Edit ${name}`,
    name: 'Name',
    system: 'System prompt',
    memory: 'Memory of earlier chats',
    asBase: 'As its model has it',
    withMemory: 'With memory',
    noMemory: 'Without memory',
    take: 'Replace samplers, thinking and stop texts by the present settings',
    taken: (parts: string) => `Saved with it: ${parts}.`,
    samplers: (count: number) => plural(count, { one: '# sampler setting', other: '# sampler settings' }),
    length: (tokens: number) => `reply length ${number(tokens)}`,
    thinking: (effort: string) => `thinking ${effort}`,
    stops: (count: number) => plural(count, { one: '# stop text', other: '# stop texts' }),
    save: 'Save as a preset',
    saveEdit: 'Save',
    cancel: 'Cancel',
    saved: (name: string) => `${name} is a model now.`,
    changed: (name: string) => `Saved ${name}.`,
    confirm: 'Delete',
  },
  commands: {
    title: 'From the command line',
    launcher: 'Choose a model and all settings in the launcher:',
    launcherLabel: 'Command that opens the launcher',
    model: 'Start with any GGUF file:',
    modelLabel: 'Command with a model',
    list: 'List the models that other programs have downloaded:',
    listLabel: 'Command that lists models',
    pull: 'Download a model:',
    pullLabel: 'Command that downloads a model',
    router: 'Serve all models of a folder by name:',
    routerLabel: 'Command for several models',
    clone: 'In a clone, write npm start -- instead of parley.',
  },
});

/** Models on other servers take no memory here. */
export const isLocal = ({ memory_bytes, file_bytes }: Pick<ModelStatus, 'memory_bytes' | 'file_bytes'>): boolean =>
  memory_bytes !== null || file_bytes !== null;

/** What is known of a model, shortest first. */
export function factsLine(model: ModelStatus): string {
  const { facts } = texts;
  const isResident = model.state === 'loaded' || model.state === 'unloading';
  const memory =
    model.memory_bytes === null ? undefined : (isResident ? facts.memory : facts.needs)(model.memory_bytes);
  const found = [
    model.parameters === null ? undefined : facts.parameters(parametersText(model.parameters)),
    model.quantization ?? undefined,
    model.context !== null
      ? facts.context(model.context)
      : model.trained_context === null
        ? undefined
        : facts.trained(model.trained_context),
    memory ?? (model.file_bytes === null ? undefined : facts.file(model.file_bytes)),
    model.pinned && isLocal(model) ? facts.pinned : undefined,
    model.active_requests > 0
      ? facts.busy(model.active_requests)
      : model.expires_at === null || !isResident
        ? undefined
        : facts.idle(time(model.expires_at)),
  ];
  return found.filter((fact) => fact !== undefined).join(' · ');
}

export function libraryLine({ type, program, parameters, quantization, file_bytes }: LibraryEntry): string {
  const found = [
    type === 'config' ? texts.library.config : file_bytes === null ? texts.library.unreadable : undefined,
    parameters === null ? undefined : texts.facts.parameters(parametersText(parameters)),
    quantization ?? undefined,
    file_bytes === null ? undefined : texts.facts.file(file_bytes),
    program ?? texts.library.folder,
  ];
  return found.filter((fact) => fact !== undefined).join(' · ');
}
