export const packStates = ['absent', 'broken', 'outdated', 'installed'] as const;
export const packJobStates = ['waiting', 'running', 'failed'] as const;

/** An optional engine of the catalogue that this system can use. */
export interface PackStatus {
  readonly name: string;
  /** What it provides, as one sentence. */
  readonly brings: string;
  readonly licence: string;
  /** What is left to download; the whole pack if it is installed. */
  readonly bytes: number;
  /** `outdated`: intact, but not of the version of the catalogue. */
  readonly state: (typeof packStates)[number];
  /** Whether it was there when the present model was prepared: engines are chosen then. */
  readonly inUse: boolean;
  /** Its installation; undefined if there is none. */
  readonly job: PackJob | undefined;
}

interface PackJob {
  readonly state: (typeof packJobStates)[number];
  readonly doneBytes: number;
  readonly totalBytes: number;
  /** Why it failed, as a part of a sentence. */
  readonly reason: string | undefined;
}

/** Installs packs of the catalogue, and nothing else. */
export interface PackInstalls {
  list(): Promise<readonly PackStatus[]>;
  /** Begins the installation. False if there is no such pack for this system. */
  add(name: string): boolean;
  /** Ends an installation, and deletes what is there. False if there is no such pack for this system. */
  remove(name: string): Promise<boolean>;
}
