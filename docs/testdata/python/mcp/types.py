class Model:
    def __init__(self, **members):
        self.members = members

    @classmethod
    def model_validate(cls, members):
        return cls(**members)

    def model_dump(self, **_):
        return self.members


class CreateMessageResult(Model):
    pass


class ElicitResult(Model):
    pass


class ErrorData(Model):
    pass


class Implementation(Model):
    pass


class ListRootsResult(Model):
    pass


class PromptReference(Model):
    pass


class ResourceTemplateReference(Model):
    pass


class Root(Model):
    pass


class SamplingCapability(Model):
    pass
