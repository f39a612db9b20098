/** Missing in the types of Node. */
declare namespace WebAssembly {
  class Module {
    private readonly compiled: true;
  }
  class Instance {
    constructor(program: Module, imports: Readonly<Record<string, object>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  function compile(bytes: Uint8Array): Promise<Module>;
}
