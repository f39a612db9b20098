import { type Native, openNative, type Pointer } from './native.ts';

/** Row-major. */
export interface Tensor {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

/** Numbers, indices such as tokens, or booleans as bytes. */
export interface InputTensor {
  readonly data: Float32Array | BigInt64Array | Uint8Array;
  readonly shape: readonly number[];
}

/** ONNXTensorElementDataType. */
const float32 = 1;
const int64 = 7;
const boolean = 9;
/** ORT_ENABLE_ALL. */
const everyOptimization = 99;
/** Log level; errors are thrown. */
const onlyFatal = 4;

let environment: Pointer | undefined;

/** A session of ONNX Runtime. Runs on other threads; this one only copies tensors. */
export class OnnxSession {
  readonly #native: Native;
  readonly #session: Pointer;
  readonly #outputNames: readonly string[];
  #running = 0;
  #released = false;
  #freed = false;

  private constructor(native: Native, session: Pointer) {
    this.#native = native;
    this.#session = session;
    const allocator = native.made('allocator');
    this.#outputNames = Array.from({ length: Number(native.made('outputCount', session)) }, (_, index) => {
      const address = native.made('outputName', session, index, allocator);
      const name = native.textAt(address);
      native.call('freeByAllocator', allocator, address);
      return name;
    });
  }

  /**
   * From the bytes of a model file, which are not needed afterwards. Without an arena, memory is given back after each operation:
   * for networks whose runs are few and large.
   */
  static async open(
    model: Uint8Array,
    { threads, arena = true }: { readonly threads: number; readonly arena?: boolean },
  ): Promise<OnnxSession> {
    const native = openNative();
    environment ??= native.made('createEnvironment', onlyFatal, 'parley');
    const options = native.made('createSessionOptions');
    try {
      native.call('setOptimizationLevel', options, everyOptimization);
      native.call('setThreads', options, threads);
      if (!arena) native.call('disableArena', options);
      // Idle threads must not take CPU time from other engines.
      native.call('addSessionSetting', options, 'session.intra_op.allow_spinning', '0');
      const out = new BigUint64Array(1);
      await native.callAside('createSession', environment, model, model.byteLength, options, out);
      return new OnnxSession(native, out[0] as bigint);
    } finally {
      native.free('releaseSessionOptions', options);
    }
  }

  /** Computes all outputs. The signal terminates the run. */
  async run(inputs: Readonly<Record<string, InputTensor>>, signal?: AbortSignal): Promise<Record<string, Tensor>> {
    const values = await this.compute(inputs, this.#outputNames, signal);
    try {
      return Object.fromEntries(values.map((value, index) => [this.#outputNames[index], value.read()]));
    } finally {
      for (const value of values) value.release();
    }
  }

  /**
   * Computes the named outputs and leaves them in memory of the library, so that a later run can take them as inputs without a
   * copy. The caller releases them, also those that it passes as inputs.
   */
  async compute(
    inputs: Readonly<Record<string, InputTensor | OnnxValue>>,
    outputNames: readonly string[],
    signal?: AbortSignal,
  ): Promise<readonly OnnxValue[]> {
    if (this.#released) throw new Error('the network was released');
    signal?.throwIfAborted();
    const native = this.#native;
    const own: OnnxValue[] = [];
    const outputs = new BigUint64Array(outputNames.length);
    const runOptions = native.made('createRunOptions');
    const terminate = (): void => native.call('setTerminate', runOptions);
    signal?.addEventListener('abort', terminate, { once: true });
    this.#running += 1;
    try {
      const names = Object.keys(inputs);
      const values = names.map((name) => {
        const input = inputs[name] as InputTensor | OnnxValue;
        if (input instanceof OnnxValue) return input.pointer;
        const value = OnnxValue.of(native, input);
        own.push(value);
        return value.pointer;
      });
      const named = [names, BigUint64Array.from(values), names.length];
      await native.callAside('run', this.#session, runOptions, ...named, outputNames, outputs.length, outputs);
      return Array.from(outputs, (output) => new OnnxValue(native, output));
    } catch (error) {
      for (const output of outputs) if (output) native.free('releaseValue', output);
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener('abort', terminate);
      for (const value of own) value.release();
      native.free('releaseRunOptions', runOptions);
      this.#running -= 1;
      this.#freeWhenDone();
    }
  }

  /** Takes effect after running calls. */
  release(): void {
    this.#released = true;
    this.#freeWhenDone();
  }

  #freeWhenDone(): void {
    if (!this.#released || this.#running > 0 || this.#freed) return;
    this.#freed = true;
    this.#native.free('releaseSession', this.#session);
  }
}

/** A tensor in memory of the library. */
export class OnnxValue {
  #released = false;

  constructor(
    private readonly native: Native,
    readonly pointer: Pointer,
  ) {}

  /** A copy, so that the library never reads our memory. */
  static of(native: Native, { data, shape }: InputTensor): OnnxValue {
    const count = shape.reduce((product, length) => product * length, 1);
    if (count !== data.length) {
      throw new Error(`a tensor of shape ${shape.join('×')} has ${count} numbers, not ${data.length}`);
    }
    const dimensions = BigInt64Array.from(shape, BigInt);
    const type = data instanceof Float32Array ? float32 : data instanceof BigInt64Array ? int64 : boolean;
    const pointer = native.made('createTensor', native.made('allocator'), dimensions, shape.length, type);
    const value = new OnnxValue(native, pointer);
    if (count > 0) {
      new Uint8Array(value.#memory(data.byteLength)).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
    }
    return value;
  }

  /** A copy of its numbers. */
  read(): Tensor {
    const { native } = this;
    const kind = native.made('typeAndShape', this.pointer);
    try {
      const elements = new Int32Array(1);
      native.call('elementType', kind, elements);
      if (elements[0] !== float32) throw new Error(`the network gives numbers of type ${elements[0]}, not float32`);
      const dimensions = new BigInt64Array(Number(native.made('dimensionCount', kind)));
      native.call('dimensions', kind, dimensions, dimensions.length);
      const shape = Array.from(dimensions, Number);
      const count = shape.reduce((product, length) => product * length, 1);
      return { shape, data: count > 0 ? new Float32Array(this.#memory(4 * count)).slice() : new Float32Array() };
    } finally {
      native.free('releaseTypeAndShape', kind);
    }
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.native.free('releaseValue', this.pointer);
  }

  #memory(bytes: number): ArrayBuffer {
    return this.native.view(this.native.made('tensorData', this.pointer), bytes);
  }
}
