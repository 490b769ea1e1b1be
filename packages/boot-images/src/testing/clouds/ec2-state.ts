/** An image as the API has it (docs.aws.amazon.com/AWSEC2/latest/APIReference/API_Image.html; only what is set here). */
export interface FakeAmi {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly description?: string;
  readonly architecture: string;
  /** pending, available, invalid, deregistered, transient, failed, error, disabled. */
  state: string;
  readonly stateReason?: { readonly code: string; readonly message: string };
  readonly bootMode?: string;
  readonly created: string;
  readonly deprecated?: string;
  /** Accounts that may start from it besides its owner; default everybody. */
  readonly sharedWith?: readonly string[];
  /** Whether who may not start from it is told that it is not there, or is told nothing. */
  readonly hidden?: 'refused' | 'left out';
  /** Codes of the marketplace. */
  readonly productCodes?: readonly string[];
}

/** A type of instances (…/API_InstanceTypeInfo.html). */
export interface FakeInstanceType {
  readonly name: string;
  readonly bootModes: readonly string[];
}

/** EC2 and the security token service, as far as they concern who reads images. */
export interface Ec2State {
  /** By region, then by id. Put in, take out. */
  readonly regions: Map<string, Map<string, FakeAmi>>;
  readonly types: Map<string, FakeInstanceType>;
  /** Names of actions for which the account has no right. */
  readonly denied: Set<string>;
  readonly how: {
    /** Images of one answer to a question without ids. */
    pageSize: number;
    /** Whether {@link keys} are known. */
    keysAccepted: boolean;
  };
  /** `region: Action ids` of each call that was answered, oldest first. */
  readonly asked: string[];
  /** The account that asks. */
  readonly account: string;
  /** Keys that never expire. */
  readonly keys: { readonly id: string; readonly secret: string };
  /** Sessions that were given are refused from now on. */
  revoke: () => void;
  /** What the file must hold for {@link role}. */
  readonly subjectToken: string;
  /** A role that the token may assume. */
  readonly role: string;
  /** A role that the keys, and sessions of the other role, may assume. */
  readonly readerRole: string;
  /** That {@link readerRole} asks for. */
  readonly externalId: string;
}
